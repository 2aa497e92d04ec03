// The last space of a disk belongs to the databases that run on it: PostgreSQL ends at once when it cannot begin its next WAL
// file. So copies stop first, as if the disk were full (and then services refuse writes: room-watch.ts).
import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const mib = 1024 ** 2
/** Else a copy alone could make services refuse writes, which they do below 192 MB. */
const kept_bytes = 256 * mib

/** A copy asks after so many bytes: a small part of the space that is left to others. */
export const room_every_bytes = mib

/** Asked again and again during a copy, which costs microseconds. Fails as a write to a full disk would. */
export function requireRoom(folder: string, bytes = 0): void {
  const to_come = [...under_way].reduce((sum, file) => sum + bytesMissing(file), bytes)
  if (freeBytes(folder) - to_come >= kept_bytes) return
  throw Object.assign(new Error(`too little space is left on the disk of ${folder}`), { code: 'ENOSPC' })
}

/** What the system writes at one go: nobody can break it off when the space ends, so it is asked for before. */
const under_way = new Set<WholeFile>()

type WholeFile = { path: string; bytes: number }

export async function withRoomFor(file: WholeFile, write: () => Promise<void>): Promise<void> {
  requireRoom(dirname(file.path), file.bytes)
  under_way.add(file)
  try {
    await write()
  } finally {
    under_way.delete(file)
  }
}

function bytesMissing({ path, bytes }: WholeFile): number {
  const written = (statSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * 512
  return Math.max(0, bytes - written)
}

export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}
