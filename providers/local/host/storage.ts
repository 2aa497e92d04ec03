// How much of the disk a service's data and WAL take, as the file system counts it. A walk over its files: cheap for one
// service, not for hundreds at once, so it yields to other work as it goes, and the caller decides how often it runs.
import type { Stats } from 'node:fs'
import { setImmediate as others } from 'node:timers/promises'
import { entries_per_turn } from './entries.ts'
import { listStats } from './tenant-files.ts'

const block_bytes = 512

/** `from`: of this folder below it alone. `without`: not of this one. */
export async function storageOf(data: string, { from = '', without = '' } = {}): Promise<number> {
  let bytes = 0
  for await (const stats of filesIn(data, from, (path) => path === without)) bytes += stats.blocks * block_bytes
  return bytes
}

/** How much there is to read, holes in files included. `skip`: without an entry, and all below it. */
export async function lengthOf(folder: string, skip: (path: string) => boolean = () => false): Promise<number> {
  let bytes = 0
  for await (const { size } of filesIn(folder, '', skip)) bytes += size
  return bytes
}

async function* filesIn(folder: string, from: string, skip: (path: string) => boolean): AsyncGenerator<Stats> {
  let visited = 0
  const folders = [from]
  for (let below = folders.pop(); below !== undefined; below = folders.pop()) {
    for await (const [name, stats] of statsIn(folder, below)) {
      // No entry below is a link: table spaces are not offered.
      const path = below === '' ? name : `${below}/${name}`
      if (skip(path)) continue
      if (stats.isDirectory()) folders.push(path)
      else if (stats.isFile()) yield stats
      visited += 1
      // Of many small folders.
      if (visited % entries_per_turn === 0) await others()
    }
  }
}

/** When the newest part of the WAL was written: whatever changes the data, but for unlogged tables, goes there first. */
export async function lastWrittenOf(data: string): Promise<number> {
  let newest_ms = 0
  for await (const [, { mtimeMs }] of statsIn(data, 'pg_wal')) newest_ms = Math.max(newest_ms, mtimeMs)
  return newest_ms
}

/** What cannot be read, or is removed meanwhile, takes no space. */
async function* statsIn(data: string, below: string): AsyncGenerator<[name: string, stats: Stats]> {
  try {
    yield* listStats(data, below)
  } catch {
    // The caller goes on with the entries until then.
  }
}
