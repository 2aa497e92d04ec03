// The last space of a disk belongs to the databases that run on it: PostgreSQL ends at once when it cannot begin its next WAL
// file. So copies stop first, as if the disk were full (and then services refuse writes: quota/disk-space-watch.ts).
import { statfsSync } from 'node:fs'

const mib = 1024 ** 2
/** Else a copy alone could make services refuse writes, which they do below 192 MB. */
const kept_bytes = 256 * mib

/**
 * Fails as a write to a full disk would, unless so many bytes can be written. Called again and again during a copy, which costs
 * microseconds.
 */
export function requireDiskSpace(folder: string, bytes = 0): void {
  if (freeBytes(folder) < bytes + kept_bytes) throw noSpaceError(folder)
}

export function noSpaceError(folder: string): Error {
  return Object.assign(new Error(`too little space is left on the disk of ${folder}`), { code: 'ENOSPC' })
}

export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

export function diskBytes(folder: string): number {
  const { blocks, bsize } = statfsSync(folder)
  return blocks * bsize
}
