// How much of the disk a service's data and WAL take, as the file system counts it. A walk over its files: cheap for one
// service, not for hundreds at once, so it gives way to others as it goes, and how often it happens is the caller's care.
import type { Stats } from 'node:fs'
import { setImmediate as others } from 'node:timers/promises'
import { listStats } from './tenant-files.ts'

/** About two milliseconds' worth. */
const entries_per_turn = 400
const block_bytes = 512

/** `from`: of this folder below it alone. `without`: not of this one. */
export async function storageOf(data: string, { from = '', without = '' } = {}): Promise<number> {
  let bytes = 0
  let seen = 0
  const folders = [from]
  for (let below = folders.pop(); below !== undefined; below = folders.pop()) {
    for (const [name, stats] of statsIn(data, below)) {
      // Nothing below is a link: table spaces are not offered.
      const path = below === '' ? name : `${below}/${name}`
      if (path === without) continue
      if (stats.isDirectory()) folders.push(path)
      else if (stats.isFile()) bytes += stats.blocks * block_bytes
      seen += 1
      if (seen % entries_per_turn === 0) await others()
    }
  }
  return bytes
}

/** When the newest part of the WAL was written: whatever changes the data, but for unlogged tables, goes there first. */
export function lastWrittenOf(data: string): number {
  return Math.max(0, ...statsIn(data, 'pg_wal').map(([, { mtimeMs }]) => mtimeMs))
}

/** What vanishes meanwhile takes nothing. */
function statsIn(data: string, below: string): [string, Stats][] {
  try {
    return listStats(data, below)
  } catch {
    return []
  }
}
