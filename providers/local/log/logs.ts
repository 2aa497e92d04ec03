// The log of a service, as PostgreSQL itself wrote it: pages of it, and its end by retention. Each node has its own. It is
// there whether the service runs or not, as long as the service is.
import { stat } from 'node:fs/promises'
import type { LogPage, LogQuery, LogRefusal } from '../../provider.ts'
import { errorCode } from '../effect.ts'
import { nodeOf, placeOf } from '../layout.ts'
import { newCursor, parseCursor } from './cursor.ts'
import { readPage } from './page.ts'
import type { ScannerPool } from './scanner-pool.ts'
import { listNodeFolders } from '../ha/nodes.ts'
import { findPrimary } from '../ha/primary.ts'

export type LogHost = { directory: string; as_root: boolean; scanners: ScannerPool }

export async function readLogs(host: LogHost, service_id: string, query: LogQuery): Promise<LogPage | LogRefusal> {
  const place = placeOf(host.directory, service_id, 0, host.as_root)
  const { node: primary } = await findPrimary(place)
  const nodes = [primary, ...(await listNodeFolders(place))]
  if (query.node !== undefined && !nodes.includes(query.node)) return { refused: 'node' }
  const after = query.cursor === undefined ? undefined : parseCursor(service_id, query.cursor)
  if (query.cursor !== undefined && after === undefined) return { refused: 'cursor' }
  const node = query.node ?? after?.node ?? primary
  if (after !== undefined && (after.node !== node || !nodes.includes(node))) return { refused: 'cursor' }
  const folder = nodeOf(place, node, 'standby').log
  const uid = await ownerOf(folder)
  if (uid === undefined) return { entries: [] }
  const { entries, next } = await readPage({ folder, uid, node }, query, after, host.scanners)
  return next === undefined ? { entries } : { entries, cursor: newCursor(service_id, next) }
}

/** Whoever owns the folder writes the log; undefined when there is none yet. */
async function ownerOf(folder: string): Promise<number | undefined> {
  try {
    return (await stat(folder)).uid
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
