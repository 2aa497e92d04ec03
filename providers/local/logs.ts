// The log of a service, as PostgreSQL itself wrote it: pages of it, and its end by retention. It is there whether the service
// runs or not, as long as the service is.
import { stat } from 'node:fs/promises'
import type { LogPage, LogQuery, LogRefusal } from '../provider.ts'
import { errorCode } from './effect.ts'
import { placeOf } from './layout.ts'
import { newCursor, parseCursor } from './log/cursor.ts'
import { readPage } from './log/page.ts'
import type { ScannerPool } from './log/scanner-pool.ts'

export type LogHost = { directory: string; as_root: boolean; scanners: ScannerPool }

/** A service has one node: its primary. */
const nodes = 1

export async function readLogs(host: LogHost, service_id: string, query: LogQuery): Promise<LogPage | LogRefusal> {
  if (query.node !== undefined && query.node >= nodes) return { refused: 'node' }
  const after = query.cursor === undefined ? undefined : parseCursor(service_id, query.cursor)
  if (query.cursor !== undefined && after === undefined) return { refused: 'cursor' }
  const node = query.node ?? after?.node ?? 0
  if (after !== undefined && (after.node !== node || after.node >= nodes)) return { refused: 'cursor' }
  const folder = placeOf(host.directory, service_id, 0, host.as_root).log
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
