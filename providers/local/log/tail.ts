// A node's log read forwards from a position, through all its files, in the order of writing.
// 1. A reader that goes on at `at` gets every entry once, while files are written, rotated and removed.
// 2. A line is read when it is complete. 3. The bytes read at once are bounded, but for a single line that is longer.
import { closeSync } from 'node:fs'
import type { LogEntry, LogTailQuery } from '../../log.ts'
import type { LogPosition } from './cursor.ts'
import { beginOf, inTurns, listLogFiles, type LogFile, openLogFile, readAt } from './files.ts'
import { collectFile, disorder_ms, type Harvest, type NodeLog } from './page.ts'
import { newSearch } from './search.ts'
import { seekTime } from './seek.ts'

export type TailQuery = Omit<LogTailQuery, 'node' | 'after'>

export type Tail = { found: readonly { entry: LogEntry; position: LogPosition }[]; at: LogPosition | undefined }

const window_bytes = 1024 * 1024
const probe_bytes = 64 * 1024
const line_break = 10

/** Without a position from the beginning, or from the first entry that is late enough. */
export async function readTail(log: NodeLog, query: TailQuery, after: LogPosition | undefined): Promise<Tail> {
  // Listed before any is read: a file is complete when there is a newer one.
  const names = (await listLogFiles(log.folder)).toReversed()
  const from = after ?? (query.since_ms === undefined ? undefined : await positionAt(log, query.since_ms - disorder_ms))
  let at = from
  for await (const name of inTurns(names.filter((name) => name >= (from?.file ?? '')))) {
    const file = openLogFile(log.folder, name)
    if (file === undefined) continue
    try {
      const low = name === from?.file ? from.offset : 0
      const high = await endOfLines(file, low)
      at = { node: log.node, file: name, offset: high }
      if (high > low) return { found: await collect(log, file, { name, low, high }, query), at }
    } finally {
      closeSync(file.fd)
    }
  }
  return { found: [], at }
}

/** Before the first entry of this time or a later one. */
export async function positionAt({ folder, node }: NodeLog, time_ms: number): Promise<LogPosition | undefined> {
  const names = await listLogFiles(folder)
  const name = names.find((one) => beginOf(one) <= time_ms - disorder_ms) ?? names.at(-1)
  const file = name === undefined ? undefined : openLogFile(folder, name)
  if (name === undefined || file === undefined) return undefined
  try {
    return { node, file: name, offset: (await seekTime(file.fd, file.size, time_ms)).offset }
  } finally {
    closeSync(file.fd)
  }
}

type Stretch = { name: string; low: number; high: number }

async function collect({ node, hidden }: NodeLog, file: LogFile, stretch: Stretch, query: TailQuery) {
  const harvest: Harvest = { found: [], skipped: 0, scanned_bytes: 0, reached: undefined }
  const all = { ...query, skip: 0, limit: Infinity }
  await collectFile({ file, node, hidden, ...stretch }, all, newSearch(query), harvest)
  const { name } = stretch
  return harvest.found.toReversed().map(({ entry, end }) => ({ entry, position: { node, file: name, offset: end } }))
}

/** Where the last complete line of the next window ends; the window's own beginning when none is complete. */
async function endOfLines({ fd, size }: LogFile, low: number): Promise<number> {
  if (low >= size) return low
  const probe = Buffer.allocUnsafe(probe_bytes)
  for (let window = window_bytes; ; window *= 4) {
    const limit = Math.min(low + window, size)
    for (let end = limit; end > low;) {
      const start = Math.max(low, end - probe_bytes)
      const { bytesRead } = await readAt(fd, probe, 0, end - start, start)
      const found = probe.subarray(0, bytesRead).lastIndexOf(line_break)
      if (found >= 0) return start + found + 1
      end = start
    }
    if (limit >= size) return low
  }
}
