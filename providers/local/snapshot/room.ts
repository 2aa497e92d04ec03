// The last space of the disk belongs to the databases that run on it: PostgreSQL ends at once when it cannot begin its next
// WAL file. So a copy that would take that space is a copy that has met a full disk.
import { statfsSync } from 'node:fs'

/** Some WAL files, and what logins and statistics write meanwhile. */
const kept_bytes = 64 * 1024 ** 2

/** Asked before every file of a copy, which costs microseconds. Fails as a write to a full disk would. */
export function requireRoom(folder: string): void {
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize >= kept_bytes) return
  throw Object.assign(new Error(`too little space is left on the disk of ${folder}`), { code: 'ENOSPC' })
}
