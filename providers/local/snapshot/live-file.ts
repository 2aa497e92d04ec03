// Copies one file that somebody may be writing, cutting short, replacing or removing at this moment: a file of a running
// PostgreSQL. Blocks are shared where the file system can.
// 1. It ends: Node's own copyFile goes round for ever when its source shrinks under it.
// 2. It copies only what lies where it seems to lie: as root we must not be led elsewhere by a planted link.
import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, writeFileSync } from 'node:fs'
import { copyFile, open } from 'node:fs/promises'

/** Remembered over one tree, so that a file system without cloning is asked once. */
export type Cloning = { possible: boolean }

/** Up to here a file is read and written at one go: the detour through other threads would cost more. */
const small_bytes_max = 128 * 1024
/** Larger ones are no faster, and what a copy leaves behind for the garbage collector stays with the process as holes. */
const chunk_bytes = 256 * 1024
/** For small files: what is read into it is written at once. */
const scratch = Buffer.allocUnsafeSlow(small_bytes_max)

/** What was seen of the file before it was copied. */
export type Seen = { size: number; mode: number }

/**
 * `real_path` has no links in it. ENOENT is thrown when the file is gone, or is no longer the one that it was.
 * The copy may have the file's mode. What costs next to nothing is done when this returns.
 */
export function copyLiveFile(real_path: string, target: string, cloning: Cloning): Seen | Promise<Seen> {
  const source = openSync(real_path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  let copying: Promise<Seen> | undefined
  try {
    // A file whose last name was removed a moment ago shows as such, which is the same to us as gone.
    const seen = fstatSync(source)
    if (readlinkSync(pathOf(source)) !== real_path || !seen.isFile()) throw gone(real_path)
    if (seen.size === 0 || (seen.size <= small_bytes_max && !cloning.possible)) {
      copySmall(source, target, seen)
      return seen
    }
    copying = copyElsewhere(source, target, seen, cloning).then(() => seen)
    return copying.finally(() => closeSync(source))
  } finally {
    if (!copying) closeSync(source)
  }
}

const pathOf = (file: number) => `/proc/self/fd/${file}`

function copySmall(source: number, target: string, { size }: Seen): void {
  const bytes = size === 0 ? 0 : readSync(source, scratch)
  writeFileSync(target, scratch.subarray(0, bytes), { mode: 0o600 })
}

/** In other threads: to share the blocks of a file is work for the kernel, and cores are there to be used. */
async function copyElsewhere(source: number, target: string, seen: Seen, cloning: Cloning): Promise<void> {
  if (cloning.possible) {
    try {
      await copyFile(pathOf(source), target, constants.COPYFILE_FICLONE_FORCE)
      return
    } catch (error) {
      giveUpCloning(cloning, error)
    }
  }
  if (seen.size <= small_bytes_max) copySmall(source, target, seen)
  else await copyInChunks(source, target)
}

function giveUpCloning(cloning: Cloning, error: unknown): void {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOSPC' || code === 'EDQUOT') throw error
  cloning.possible = false
}

async function copyInChunks(source: number, target: string): Promise<void> {
  const from = await open(pathOf(source), 'r')
  const to = await open(target, 'w', 0o600)
  try {
    const buffer = Buffer.allocUnsafe(chunk_bytes)
    for (let at = 0; ;) {
      const { bytesRead } = await from.read(buffer, 0, chunk_bytes, at)
      if (bytesRead === 0) return
      for (let written = 0; written < bytesRead;) {
        written += (await to.write(buffer, written, bytesRead - written, at + written)).bytesWritten
      }
      at += bytesRead
    }
  } finally {
    await Promise.all([from.close(), to.close()])
  }
}

function gone(path: string): Error {
  return Object.assign(new Error(`${path} is not what it was`), { code: 'ENOENT' })
}
