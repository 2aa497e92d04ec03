// The log of a service or a replica set, as PostgreSQL itself wrote it: pages of it, backwards and forwards. Each node has its own. It
// exists as long as its owner, whether that runs or not. The folders of a set lie like those of a service; its first node stands for
// the primary.
import type { LogPage, LogQuery, LogRefusal, LogTail, LogTailQuery } from '../../log.ts'
import { nodeOf } from '../host/layout.ts'
import { type LogPosition, newCursor, parseCursor } from './cursor.ts'
import { beginOf } from './files.ts'
import { type NodeLog, readPage } from './page.ts'
import { positionAt, readTail, type Tail } from './tail.ts'
import { listNodes } from '../postgres/nodes.ts'
import { findLeader } from '../postgres/primary.ts'

type LogHost = { directory: string; as_root: boolean }

export async function readLogs(host: LogHost, id: string, query: LogQuery): Promise<LogPage | LogRefusal> {
  const nodes = await listNodes(await findLeader(nodeOf(host.directory, id, 0, host.as_root)))
  if (query.node !== undefined && !nodes.some(({ number }) => number === query.node)) return { refused: 'node' }
  const after = query.cursor === undefined ? undefined : parseCursor(id, query.cursor)
  if (query.cursor !== undefined && after === undefined) return { refused: 'cursor' }
  const wanted = query.node ?? after?.node ?? nodes[0].number
  const node = nodes.find(({ number }) => number === wanted)
  if (node === undefined || (after !== undefined && after.node !== wanted)) return { refused: 'cursor' }
  const { entries, placed, next } = await readPage(logOf(host, node), query, after)
  return {
    entries,
    placed: () => placed.map(({ entry, end }) => ({ entry, node: end.node, at: newCursor(id, end) })),
    ...(next && { cursor: newCursor(id, next) }),
  }
}

export async function readLogTail(host: LogHost, id: string, query: LogTailQuery): Promise<LogTail | LogRefusal> {
  const nodes = await listNodes(await findLeader(nodeOf(host.directory, id, 0, host.as_root)))
  const [primary] = nodes
  if (query.node !== undefined && !nodes.some(({ number }) => number === query.node)) return { refused: 'node' }
  const after = query.after === undefined ? undefined : parseCursor(id, query.after)
  const wanted = query.node ?? after?.node ?? primary.number
  if (query.after !== undefined && after?.node !== wanted) return { refused: 'cursor' }
  const node = nodes.find(({ number }) => number === wanted)
  const log = node && logOf(host, node)
  const tail = log && (await readTail(log, query, after))
  const is_last = query.node !== undefined || wanted === primary.number
  if (tail && (is_last || hasMoved(tail, after))) return tailOf(id, tail)
  // All of the log of an earlier primary has been read: the next one's goes on at the time of its last entry.
  const next = logOf(host, primary)
  const from = after && (await positionAt(next, await lastTime(log, after)))
  return tailOf(id, from === undefined ? { found: [], at: after } : await readTail(next, query, from))
}

const logOf = (host: LogHost, { log, number }: { log: string; number: number }): NodeLog => ({
  folder: log,
  node: number,
  hidden: host.directory,
})

const hasMoved = ({ at }: Tail, after: LogPosition | undefined) =>
  at?.file !== after?.file || at?.offset !== after?.offset

/** Of the newest entry before the position; where that cannot be read any more, the beginning of its file. */
async function lastTime(log: NodeLog | undefined, before: LogPosition): Promise<number> {
  const page = log && (await readPage(log, { skip: 0, limit: 1, search: [], severities: [] }, before))
  const [entry] = page?.entries ?? []
  return entry === undefined ? beginOf(before.file) : Date.parse(entry.timestamp)
}

function tailOf(id: string, { found, at }: Tail): LogTail {
  const entries = found.map(({ entry, position }) => ({ entry, node: position.node, at: newCursor(id, position) }))
  return { entries, at: at && newCursor(id, at) }
}
