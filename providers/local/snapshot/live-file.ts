// Copies one file that somebody may be writing, cutting short, replacing or removing at this moment: a file of a running
// PostgreSQL. Blocks are shared where the file system can.
// 1. It ends: Node's own copyFile goes round for ever when its source shrinks under it.
// 2. It copies only what lies where it seems to lie: as root we must not be led elsewhere by a planted link.
import { closeSync, constants, copyFileSync, fstatSync, openSync, readlinkSync, readSync, writeFileSync } from 'node:fs'
import { copyFile, open } from 'node:fs/promises'

/** Remembered over one tree, so that a file system without cloning is asked once. */
export type Cloning = { possible: boolean }

/** Up to here a file is copied at one go: the detour through other threads would cost more. */
const small_bytes_max = 128 * 1024
/** Larger ones are no faster, and what a copy leaves behind for the garbage collector stays with the process as holes. */
const chunk_bytes = 256 * 1024
/** For small files: what is read into it is written at once. */
const scratch = Buffer.allocUnsafeSlow(small_bytes_max)

/**
 * `real_path` has no links in it. ENOENT is thrown when the file is gone, or is no longer the one that it was.
 * Returns the size of the copy, whose mode may be that of the file.
 */
export async function copyLiveFile(real_path: string, target: string, cloning: Cloning): Promise<number> {
  const source = openSync(real_path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    // A file whose last name was removed a moment ago shows as such, which is the same to us as gone.
    const seen = fstatSync(source)
    if (readlinkSync(`/proc/self/fd/${source}`) !== real_path || !seen.isFile()) throw gone(real_path)
    const small = seen.size <= small_bytes_max
    if (cloning.possible) cloning.possible = await cloned(source, target, small)
    if (cloning.possible) return seen.size
    if (small) writeFileSync(target, scratch.subarray(0, readSync(source, scratch)), { mode: 0o600 })
    else await copyInChunks(source, target)
    return seen.size
  } finally {
    closeSync(source)
  }
}

async function cloned(source: number, target: string, small: boolean): Promise<boolean> {
  const path = `/proc/self/fd/${source}`
  try {
    if (small) copyFileSync(path, target, constants.COPYFILE_FICLONE_FORCE)
    else await copyFile(path, target, constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOSPC' || code === 'EDQUOT') throw error
    return false
  }
}

async function copyInChunks(source: number, target: string): Promise<void> {
  const from = await open(`/proc/self/fd/${source}`, 'r')
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
