// The log of a service or a replica set, read from its Pods when it is asked for. It reaches back as far as the node of a Pod keeps it: by
// default the newest 10 MB, and that of the container before the last start; a Pod that is removed takes its log with it.
import type { LogPage, LogQuery, LogRefusal, Logs, LogSilence, LogTail, LogTailQuery } from '../../log.ts'
import { entryOf, type ParsedEntry } from '../../postgres/log-entry.ts'
import { isWithin, newMatch } from '../../postgres/log-match.ts'
import type { Call } from '../api/connection.ts'
import { isStatus, sentenceOf } from '../api/errors.ts'
import type { Pod } from '../api/kinds.ts'
import type { Cell } from '../cell.ts'
import { instancesOf, isPrimary } from '../cluster/look.ts'
import { service_label, set_label } from '../names.ts'
import { isAfter, type Line, type LinePlace, parseLogLine } from './line.ts'
import { newCursor, parseCursor } from './place.ts'

type Node = { number: number; pod: Pod }

/** The node writes a line after PostgreSQL has taken its time. */
const disorder_ms = 2_000
const tail_entries_max = 1_000

export const newLogs = (cell: Cell): Logs => ({
  page: (id, query) => orSilence(cell, readPage(cell, id, query)),
  tail: (id, query) => orSilence(cell, readTail(cell, id, query)),
})

/** A part of a log must not pass for all of it. */
const orSilence = <T>({ region }: Cell, read: Promise<T>): Promise<T | LogSilence> =>
  read.catch((error: unknown) => {
    const unavailable = sentenceOf(error, region)
    if (unavailable === undefined) throw error
    return { unavailable }
  })

async function readPage(cell: Cell, id: string, query: LogQuery): Promise<LogPage | LogRefusal> {
  const nodes = nodesOf(cell, id)
  if (query.node !== undefined && !nodes.some(({ number }) => number === query.node)) return { refused: 'node' }
  const before = query.cursor === undefined ? undefined : parseCursor(id, query.cursor)
  const wanted = query.node ?? before?.node ?? nodes[0]?.number
  if (query.cursor !== undefined && (before === undefined || before.node !== wanted)) return { refused: 'cursor' }
  const node = nodes.find(({ number }) => number === wanted)
  if (node === undefined) return query.cursor === undefined ? pageOf(id, 0, []) : { refused: 'cursor' }
  const matches = newMatch(query)
  const { skip, limit } = query
  const found: Found[] = []
  for await (const { entry, ...place } of linesOf(cell, node.pod, query.since_ms)) {
    if (before !== undefined && isAfter(place, before)) break
    if (entry === undefined || !isWithin(entry.time_ms, query) || !matches(entry)) continue
    found.push({ entry, place })
    // One more tells that there are older ones.
    if (found.length > skip + limit + 1) found.shift()
  }
  const newest = found.slice(0, Math.max(0, found.length - skip))
  const page = newest.slice(-limit)
  return pageOf(id, node.number, page, newest.length > page.length)
}

type Found = { entry: ParsedEntry; place: LinePlace }

/** The next page ends right before the oldest entry of this one. */
function pageOf(id: string, node: number, page: readonly Found[], has_older = false): LogPage {
  const sorted = page.toReversed().toSorted((one, other) => other.entry.time_ms - one.entry.time_ms)
  const oldest = has_older ? page[0]?.place : undefined
  return {
    entries: sorted.map(({ entry }) => entryOf(entry)),
    placed: () =>
      sorted.map(({ entry, place }) => ({ entry: entryOf(entry), node, at: newCursor(id, { node, ...place }) })),
    ...(oldest && { cursor: newCursor(id, { node, time: oldest.time, nth: oldest.nth - 1 }) }),
  }
}

async function readTail(cell: Cell, id: string, query: LogTailQuery): Promise<LogTail | LogRefusal> {
  const nodes = nodesOf(cell, id)
  if (query.node !== undefined && !nodes.some(({ number }) => number === query.node)) return { refused: 'node' }
  const after = query.after === undefined ? undefined : parseCursor(id, query.after)
  const wanted = query.node ?? after?.node ?? nodes[0]?.number
  if (query.after !== undefined && after?.node !== wanted) return { refused: 'cursor' }
  const node = nodes.find(({ number }) => number === wanted)
  const tail = node && (await tailOf(cell, id, node, query, after))
  const [primary] = nodes
  if (primary === undefined) return { entries: [], at: query.after }
  if (tail !== undefined && (query.node !== undefined || node === primary || tail.at !== query.after)) return tail
  // All of the log of an earlier primary has been read: the next one's goes on at the time of its last line.
  return await tailOf(cell, id, primary, query, after)
}

async function tailOf(
  cell: Cell,
  id: string,
  { number, pod }: Node,
  query: LogTailQuery,
  after: LinePlace | undefined,
): Promise<LogTail> {
  const matches = newMatch(query)
  const entries: LogTail['entries'][number][] = []
  let at = after
  const from_ms = after === undefined ? query.since_ms : Date.parse(after.time) + disorder_ms
  for await (const { entry, ...place } of linesOf(cell, pod, from_ms)) {
    if (after !== undefined && !isAfter(place, after)) continue
    at = place
    if (entry === undefined || !isWithin(entry.time_ms, query) || !matches(entry)) continue
    entries.push({ entry: entryOf(entry), node: number, at: newCursor(id, { node: number, ...place }) })
    if (entries.length >= tail_entries_max) break
  }
  return { entries, at: at === undefined ? undefined : newCursor(id, { node: number, ...at }) }
}

/** The primary first; of a replica set the first node. */
function nodesOf({ cache }: Cell, id: string): Node[] {
  const own = instancesOf(cache.list('Pod')).filter(({ metadata: { labels = {} } }) =>
    labels[set_label] === undefined ? labels[service_label] === id : labels[set_label] === id,
  )
  return own
    .map((pod) => ({ number: Number(/-(\d+)$/.exec(pod.metadata.name)?.[1] ?? 1) - 1, pod }))
    .toSorted((one, other) => Number(isPrimary(other.pod)) - Number(isPrimary(one.pod)) || one.number - other.number)
}

/** In the order of writing. `since_ms`: earlier lines are not needed, though some may come. */
async function* linesOf({ client }: Cell, pod: Pod, since_ms: number | undefined): AsyncGenerator<Line> {
  const { namespace, name } = pod.metadata
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/log`
  const sinceTime = since_ms === undefined ? undefined : new Date(since_ms - disorder_ms).toISOString()
  const restarts = pod.status?.containerStatuses?.find((one) => one.name === 'postgres')?.restartCount ?? 0
  let last: LinePlace | undefined
  for (const previous of restarts > 0 ? [true, false] : [false]) {
    const query = { container: 'postgres', timestamps: true, previous, sinceTime }
    for await (const text of textsOf(client, { method: 'GET', path, query, accept: '*/*' })) {
      const line = parseLogLine(text, last)
      if (line === undefined) continue
      last = line
      yield line
    }
  }
}

/** None where the container has not begun, or the log before its start is not kept any more. */
async function* textsOf(client: Cell['client'], call: Call): AsyncGenerator<string> {
  const reading = new AbortController()
  try {
    yield* client.lines(call, reading.signal)
  } catch (error) {
    if (!isStatus(error, 400, 404)) throw error
  } finally {
    reading.abort()
  }
}
