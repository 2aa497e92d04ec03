// The log of a service, as PostgreSQL itself wrote it: pages of it, and its retention. Each node has its own. It
// exists as long as the service, whether it runs or not.
import type { LogPage, LogQuery, LogRefusal } from '../../provider.ts'
import { nodeOf } from '../host/layout.ts'
import { newCursor, parseCursor } from './cursor.ts'
import { readPage } from './page.ts'
import { listNodes } from '../postgres/nodes.ts'
import { findLeader } from '../postgres/primary.ts'

export type LogHost = { directory: string; as_root: boolean }

export async function readLogs(host: LogHost, service_id: string, query: LogQuery): Promise<LogPage | LogRefusal> {
  const nodes = await listNodes(await findLeader(nodeOf(host.directory, service_id, 0, host.as_root)))
  if (query.node !== undefined && !nodes.some(({ number }) => number === query.node)) return { refused: 'node' }
  const after = query.cursor === undefined ? undefined : parseCursor(service_id, query.cursor)
  if (query.cursor !== undefined && after === undefined) return { refused: 'cursor' }
  const asked = query.node ?? after?.node ?? nodes[0].number
  const node = nodes.find(({ number }) => number === asked)
  if (node === undefined || (after !== undefined && after.node !== asked)) return { refused: 'cursor' }
  const log = { folder: node.log, node: asked, hidden: host.directory }
  const { entries, next } = await readPage(log, query, after)
  return next === undefined ? { entries } : { entries, cursor: newCursor(service_id, next) }
}
