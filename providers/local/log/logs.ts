// The log of a service, as PostgreSQL itself wrote it: pages of it, and its end by retention. Each node has its own. It is
// there whether the service runs or not, as long as the service is.
import type { LogPage, LogQuery, LogRefusal } from '../../provider.ts'
import { placeOf } from '../host/layout.ts'
import { newCursor, parseCursor } from './cursor.ts'
import { readPage } from './page.ts'
import { listPlaces } from '../postgres/nodes.ts'
import { findLeader } from '../postgres/primary.ts'

export type LogHost = { directory: string; as_root: boolean }

export async function readLogs(host: LogHost, service_id: string, query: LogQuery): Promise<LogPage | LogRefusal> {
  const places = await listPlaces(await findLeader(placeOf(host.directory, service_id, 0, host.as_root)))
  if (query.node !== undefined && !places.some(({ node }) => node === query.node)) return { refused: 'node' }
  const after = query.cursor === undefined ? undefined : parseCursor(service_id, query.cursor)
  if (query.cursor !== undefined && after === undefined) return { refused: 'cursor' }
  const asked = query.node ?? after?.node ?? places[0].node
  const place = places.find(({ node }) => node === asked)
  if (place === undefined || (after !== undefined && after.node !== asked)) return { refused: 'cursor' }
  const log = { folder: place.log, node: asked, hidden: host.directory }
  const { entries, next } = await readPage(log, query, after)
  return next === undefined ? { entries } : { entries, cursor: newCursor(service_id, next) }
}
