// One page of a node's log, read backwards from the end or from a cursor's position, through all its files.
// 1. The page is a range of the log in the order of writing, so that following cursors neither loses nor repeats an
//    entry; within the page entries are sorted by their times, which may be written a little out of order.
// 2. Only lines that may be on the page are parsed. 3. The bytes read for one page are bounded; a page that stops there has a
//    cursor to go on, even if it found little.
import { closeSync } from 'node:fs'
import type { LogEntry, LogQuery } from '../../log.ts'
import { blocksBackwards, line_bytes_max } from './blocks.ts'
import type { LogPosition } from './cursor.ts'
import { entryOf, type ParsedEntry, parseEntry, timeAt } from '../../postgres/log-entry.ts'
import { isWithin } from '../../postgres/log-match.ts'
import { beginOf, inTurns, listLogFiles, type LogFile, openLogFile, readAt } from './files.ts'
import { matchingLines } from './matching-lines.ts'
import { newSearch, type Search } from './search.ts'
import { seekTime } from './seek.ts'

/** `hidden`: the folder of the host that no entry may name. */
export type NodeLog = { folder: string; node: number; hidden?: string }

export type PageQuery = Omit<LogQuery, 'node' | 'cursor'>

/** `end`: of its line. */
export type Placed = { entry: LogEntry; end: LogPosition }

export type Page = { entries: LogEntry[]; placed: Placed[]; next: LogPosition | undefined }

/** A page holds a few hundred kilobytes at most, so this is mostly one read. By halves of it, a search of a gigabyte takes a fifth longer. */
const block_bytes = 512 * 1024
/** Counted in whole files, which rotation keeps small. */
const scanned_bytes_max = 2 * 1024 ** 3
const head_bytes = 64 * 1024
/** How much earlier than its neighbours an entry may be: its time is taken before it waits for its turn to be written. */
export const disorder_ms = 1_000

/** `reached`: where the next page goes on, once that is known. */
export type Harvest = { found: ParsedFound[]; skipped: number; scanned_bytes: number; reached: LogPosition | undefined }
/** `end`: of its line. */
type ParsedFound = { parsed: ParsedEntry; entry: LogEntry; position: LogPosition; end: number }

export async function readPage(log: NodeLog, query: PageQuery, after: LogPosition | undefined): Promise<Page> {
  const search = newSearch(query)
  const harvest: Harvest = { found: [], skipped: 0, scanned_bytes: 0, reached: undefined }
  let newer = ''
  for await (const name of inTurns(await listLogFiles(log.folder))) {
    if (after !== undefined && name > after.file) continue
    if (beginOf(name) - disorder_ms >= (query.until_ms ?? Infinity)) continue
    if (harvest.scanned_bytes >= scanned_bytes_max) {
      harvest.reached = { node: log.node, file: newer, offset: 0 }
      break
    }
    newer = name
    const file = openLogFile(log.folder, name)
    if (file === undefined) continue
    try {
      const end = name === after?.file ? Math.min(after.offset, file.size) : file.size
      const range = await rangeOf(file, end, query)
      const part = { file, name, node: log.node, hidden: log.hidden, ...range }
      const done = await collectFile(part, query, search, harvest)
      if (done || range.last) break
      harvest.scanned_bytes += Math.max(0, range.high - range.low)
    } finally {
      closeSync(file.fd)
    }
  }
  return pageOf(harvest)
}

/** The part of a file in which entries between the bounds can lie. */
async function rangeOf({ fd, size }: LogFile, end: number, { since_ms, until_ms }: PageQuery) {
  const since = since_ms === undefined ? undefined : await seekTime(fd, size, since_ms - disorder_ms)
  const until = until_ms === undefined ? undefined : await seekTime(fd, size, until_ms + disorder_ms)
  return {
    low: since?.earlier ? since.offset : 0,
    high: Math.min(until?.offset ?? end, end),
    /** All earlier entries are too old. */
    last: since?.earlier === true,
  }
}

type Part = Pick<NodeLog, 'node'> & {
  file: LogFile
  name: string
  hidden: string | undefined
  low: number
  high: number
}

/** True when the page is complete. */
export async function collectFile(part: Part, query: PageQuery, search: Search, harvest: Harvest): Promise<boolean> {
  if (part.low >= part.high) return false
  const range = { fd: part.file.fd, low: part.low, high: part.high }
  for await (const block of blocksBackwards(range, block_bytes)) {
    if (block.kind === 'long line') {
      if (await collectLong(part, block.start, block.end, query, search, harvest)) return true
      continue
    }
    const { bytes, base } = block
    for (const { start, end } of matchingLines(block, search)) {
      if (end - start > line_bytes_max) {
        if (await collectLong(part, base + start, base + end, query, search, harvest)) return true
        continue
      }
      const time_ms = timeAt(bytes, start)
      if (time_ms !== undefined && isWithin(time_ms, query)) {
        const parsed = parseEntry(bytes.toString('utf8', start, end), time_ms, part.hidden)
        if (collectEntry(part, base + start, base + end + 1, parsed, undefined, query, search, harvest)) return true
      }
    }
  }
  return false
}

/** Of a line longer than the maximum only the head is read. */
async function collectLong(part: Part, start: number, end: number, query: PageQuery, search: Search, harvest: Harvest) {
  const head = Buffer.alloc(Math.min(head_bytes, end - start))
  const { bytesRead } = await readAt(part.file.fd, head, 0, head.length, start)
  const time_ms = timeAt(head, 0)
  if (time_ms === undefined || !isWithin(time_ms, query)) return false
  const parsed = parseEntry(head.toString('utf8', 0, bytesRead), time_ms, part.hidden, true)
  return collectEntry(part, start, end, parsed, end - start, query, search, harvest)
}

/** Takes the entry if it matches. True when it is one more than the page holds: then there are older ones. */
function collectEntry(
  part: Part,
  offset: number,
  end: number,
  parsed: ParsedEntry | undefined,
  line_bytes: number | undefined,
  query: PageQuery,
  search: Search,
  harvest: Harvest,
): boolean {
  if (parsed === undefined || !search.accepts(parsed)) return false
  if (harvest.skipped < query.skip) {
    harvest.skipped += 1
    return false
  }
  if (harvest.found.length === query.limit) {
    harvest.reached = harvest.found.at(-1)?.position
    return true
  }
  const position = { node: part.node, file: part.name, offset }
  harvest.found.push({ parsed, entry: entryOf(parsed, line_bytes), position, end })
  return false
}

function pageOf({ found, reached }: Harvest): Page {
  const sorted = found.toSorted((a, b) => b.parsed.time_ms - a.parsed.time_ms)
  const placed = sorted.map(({ entry, position, end }) => ({ entry, end: { ...position, offset: end } }))
  return { entries: sorted.map(({ entry }) => entry), placed, next: reached }
}
