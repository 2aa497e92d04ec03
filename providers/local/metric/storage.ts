// How much of the disk a service's data and WAL take, as the file system counts it. A walk over its files: cheap for one
// service, not for hundreds at once, so it gives way to others as it goes, and how often it happens is the caller's care.
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as others } from 'node:timers/promises'

/** About two milliseconds' worth. */
const entries_per_turn = 400
const block_bytes = 512

export async function storageOf(data: string): Promise<number> {
  let bytes = 0
  let seen = 0
  const folders = [data]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name)
      // Nothing below is a link: table spaces are not offered.
      if (entry.isDirectory()) folders.push(path)
      else if (entry.isFile()) bytes += allocatedBytes(path)
      seen += 1
      if (seen % entries_per_turn === 0) await others()
    }
  }
  return bytes
}

/** When the newest part of the WAL was written: whatever changes the data, but for unlogged tables, goes there first. */
export function lastWrittenOf(data: string): number {
  const folder = join(data, 'pg_wal')
  let written_ms = 0
  for (const { name } of entriesOf(folder)) {
    written_ms = Math.max(written_ms, lstatSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0)
  }
  return written_ms
}

/** What vanishes meanwhile takes nothing. */
function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

function allocatedBytes(path: string): number {
  return (lstatSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * block_bytes
}
