// Gives back what archived WAL files do not use. Every snapshot ends two files before they are full, and PostgreSQL fills
// the rest with zeros: of an idle service nearly all of each. A hole reads the same and takes no space.
// Nothing depends on it: where the file system or the host cannot do it, the files stay as they are.
import { execFile } from 'node:child_process'
import { open, readdir, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Effect } from '../effect.ts'
import type { Place } from '../layout.ts'
import { read_safely } from '../look.ts'

/** Looks come more often than that; what is older has been looked at. */
const looked_at_ms = 3_600_000
/** The newest; an archive that grows faster between two looks is full of full files. */
const looked_at_max = 100
const page_bytes = 8_192

/** hurries: asked before each file whether something else is more urgent; the rest is for another look then. */
export async function ensureArchiveSparse(effect: Effect, { archive }: Place, hurries: () => Promise<boolean>) {
  const names = (await readdir(archive).catch(() => [])).filter((name) => /^[0-9A-F]{24}$/.test(name))
  for (const name of names.toSorted().slice(-looked_at_max)) {
    // It may be pruned at this moment, and lies in a folder of the service's user.
    const file = await open(join(archive, name), read_safely).catch(() => undefined)
    try {
      if (!file || !(await hasZeros(file))) continue
      if (await hurries()) return
      await dig(effect, file)
    } finally {
      await file?.close()
    }
  }
}

/** Whether it is new, takes all its space, and ends with a page of zeros. */
async function hasZeros(file: FileHandle): Promise<boolean> {
  const { size, blocks, mtimeMs } = await file.stat()
  if (blocks * 512 < size || size < page_bytes || Date.now() - mtimeMs > looked_at_ms) return false
  const { buffer, bytesRead } = await file.read(Buffer.alloc(page_bytes), 0, page_bytes, size - page_bytes)
  return bytesRead === page_bytes && buffer.every((byte) => byte === 0)
}

async function dig(effect: Effect, file: FileHandle): Promise<void> {
  await effect('archive: give back space')
  // By its number in this process: nobody can put another file under the name meanwhile.
  const path = `/proc/${process.pid}/fd/${file.fd}`
  await promisify(execFile)('fallocate', ['--dig-holes', path], { env: { PATH: '/usr/bin:/bin' } }).catch(
    () => undefined,
  )
}
