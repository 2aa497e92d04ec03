// Gives back what archived WAL files do not use. Every snapshot ends two files before they are full, and PostgreSQL fills
// the rest with zeros: of an idle service nearly all of each. A hole reads the same and takes no space.
// Nothing depends on it: where the file system or the host cannot do it, the files stay as they are.
import { execFile } from 'node:child_process'
import { closeSync, fstatSync, readSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Effect } from '../host/effect.ts'
import type { Place } from '../host/layout.ts'
import { openFile } from '../host/tenant-files.ts'
import { namesIfReadable } from './archive.ts'

/** Looks come more often than that; what is older has been looked at. */
const looked_at_ms = 3_600_000
/** The newest; an archive that grows faster between two looks is full of full files. */
const looked_at_max = 100
const page_bytes = 8_192

/** hurries: asked before each file whether something else is more urgent; the rest is for another look then. */
export async function ensureArchiveSparse(effect: Effect, { archive }: Place, hurries: () => Promise<boolean>) {
  const names = namesIfReadable(archive).filter((name) => /^[0-9A-F]{24}$/.test(name))
  for (const name of names.toSorted().slice(-looked_at_max)) {
    // Undefined when it has been pruned meanwhile.
    const file = openFile(archive, name)
    if (file === undefined) continue
    try {
      if (!hasZeros(file)) continue
      if (await hurries()) return
      await dig(effect, file)
    } finally {
      closeSync(file)
    }
  }
}

/** Whether it is new, takes all its space, and ends with a page of zeros. */
function hasZeros(file: number): boolean {
  const { size, blocks, mtimeMs } = fstatSync(file)
  if (blocks * 512 < size || size < page_bytes || Date.now() - mtimeMs > looked_at_ms) return false
  const page = Buffer.alloc(page_bytes)
  return readSync(file, page, 0, page_bytes, size - page_bytes) === page_bytes && page.every((byte) => byte === 0)
}

async function dig(effect: Effect, file: number): Promise<void> {
  await effect('archive: give back space')
  // By its number in this process: nobody can put another file under the name meanwhile.
  const path = `/proc/${process.pid}/fd/${file}`
  await promisify(execFile)('fallocate', ['--dig-holes', path], { env: { PATH: '/usr/bin:/bin' } }).catch(
    () => undefined,
  )
}
