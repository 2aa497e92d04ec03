// How much of the disk a service's data and WAL take, as the file system counts it. A walk over its entries: cheap for one
// service, not for hundreds at once, so it yields to other work as it goes, and the caller decides how often it runs.
import { closeSync, fstatSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as others } from 'node:timers/promises'
import { entries_per_turn } from './entries.ts'
import { pathOf } from './handle.ts'
import { listStats, openFolder } from './tenant-files.ts'

const block_bytes = 512
/** PostgreSQL's own files lie in five folders at most. */
const depth_max = 16
/** To open one takes as long as to read many entries. */
const folders_per_turn = 16

/** `from`: of this folder below it alone. `without`: not of this one. */
export async function storageOf(data: string, { from = '', without = '' } = {}): Promise<number> {
  let bytes = 0
  for await (const stats of entriesBelow(data, from, (path) => path === without)) bytes += stats.blocks * block_bytes
  return bytes
}

/** How much there is to read, holes in files included. `skip`: without an entry, and all below it. */
export async function lengthOf(folder: string, skip: (path: string) => boolean = () => false): Promise<number> {
  let bytes = 0
  for await (const stats of entriesBelow(folder, '', skip)) if (stats.isFile()) bytes += stats.size
  return bytes
}

/** Every entry below, folders too. `path`: absent where it lies deeper than any file of PostgreSQL, which no caller leaves out. */
async function* entriesBelow(root: string, from: string, skip: (path: string) => boolean): AsyncGenerator<Stats> {
  const walk = openWalk(root, from)
  if (walk === undefined) return
  let [visited, folders] = [0, 0]
  try {
    do {
      const path = walk.path()
      for await (const [name, stats] of statsIn(walk.folder())) {
        if (path !== undefined && skip(path === '' ? name : `${path}/${name}`)) continue
        if (stats.isDirectory()) walk.add(name)
        yield stats
        visited += 1
        if (visited % entries_per_turn === 0) await others()
      }
      folders += 1
      if (folders % folders_per_turn === 0) await others()
    } while (await walk.next())
  } finally {
    walk.close()
  }
}

/** `left`: its folders that are not read yet. */
type Level = { name: string; id: string; path: string | undefined; left: string[] }

/**
 * Down and up again with one handle: a service's user may have made folders in folders without end, and to open each from the top would take
 * the square of their depth. Only where the way up leads elsewhere, such as from a folder that was removed meanwhile, it begins at the top.
 */
function openWalk(root: string, from: string) {
  const top = openedIfThere(root, from)
  if (top === undefined) return undefined
  let handle = top
  const levels: Level[] = [{ name: '', id: idOf(handle), path: from, left: [] }]
  const go = (next: number | undefined, id?: string): boolean => {
    if (next === undefined) return false
    const is_asked = id === undefined || idOf(next) === id
    closeSync(is_asked ? handle : next)
    if (is_asked) handle = next
    return is_asked
  }
  const goTo = (name: string, id?: string) => go(openedIfThere(pathOf(handle), name), id)
  const goFromTop = () => {
    const is_there = go(openedIfThere(root, from))
    const lost = levels.findIndex(({ name, id }, at) => at > 0 && !goTo(name, id))
    if (!is_there || lost > 0) levels.length = is_there ? lost : 0
  }
  return {
    folder: () => pathOf(handle),
    path: () => levels.at(-1)?.path,
    add: (name: string) => void levels.at(-1)?.left.push(name),
    /** False: there is no more. */
    async next(): Promise<boolean> {
      for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
        const name = level.left.pop()
        if (name !== undefined && goTo(name)) {
          const path = levels.length < depth_max && level.path !== undefined ? join(level.path, name) : undefined
          levels.push({ name, id: idOf(handle), path, left: [] })
          return true
        }
        if (name !== undefined) continue
        levels.pop()
        const above = levels.at(-1)
        if (above !== undefined && !goTo('..', above.id)) goFromTop()
        if (levels.length % entries_per_turn === 0) await others()
      }
      return false
    },
    close: () => closeSync(handle),
  }
}

/** When the newest part of the WAL was written: whatever changes the data, but for unlogged tables, goes there first. */
export async function lastWrittenOf(data: string): Promise<number> {
  let newest_ms = 0
  for await (const [, { mtimeMs }] of statsIn(data, 'pg_wal')) newest_ms = Math.max(newest_ms, mtimeMs)
  return newest_ms
}

/** What cannot be read, or is removed meanwhile, takes no space. */
async function* statsIn(data: string, below = ''): AsyncGenerator<[name: string, stats: Stats]> {
  try {
    yield* listStats(data, below)
  } catch {
    // The caller goes on with the entries until then.
  }
}

function openedIfThere(folder: string, below: string): number | undefined {
  try {
    return openFolder(folder, below)
  } catch {
    return undefined
  }
}

function idOf(handle: number): string {
  const { dev, ino } = fstatSync(handle)
  return `${dev} ${ino}`
}
