// Repeated creations. A request with an Idempotency-Key makes one service, however often and however concurrently it is
// sent. Only a hash of the key is stored: with the salt beside it and the installation's secret the key itself yields the
// same password again.
import { createHash } from 'node:crypto'
import { Fault } from '#contract/fault.ts'
import type { Sql } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import { findService, type ServiceRow } from './store.ts'

const kept_hours = 24

type IdempotentRequest = { project_id: string; idempotency_key: string; request_hash: Buffer }

/** What the first request with this key made; undefined when there was none. */
export async function findRepeat(
  db: Sql,
  request: IdempotentRequest,
): Promise<{ row: ServiceRow; salt: Buffer } | undefined> {
  const [kept] = await db.query(sql<{ request_hash: Buffer; salt: Buffer; service_id: string }>`
    select request_hash, salt, service_id from idempotency_keys
    where project_id = ${request.project_id} and key_hash = ${hashOf(request.idempotency_key)}`)
  if (kept === undefined) return undefined
  if (!kept.request_hash.equals(request.request_hash)) {
    throw new Fault('CONFLICT', 'this Idempotency-Key was used with another request; choose a new key')
  }
  const row = await findService(db, kept.service_id)
  if (row === undefined || row.ended_at !== null) {
    throw new Fault('CONFLICT', 'the service made with this Idempotency-Key has been deleted since; choose a new key')
  }
  return { row, salt: kept.salt }
}

/** False when another request has taken the key first. Keys past their time go at the same occasion. */
export async function insertIdempotencyKey(
  tx: Sql,
  request: IdempotentRequest & { salt: Buffer; service_id: string },
): Promise<boolean> {
  await tx.query(sql`delete from idempotency_keys where created < now() - make_interval(hours => ${kept_hours})`)
  const rows = await tx.query(sql`
    insert into idempotency_keys (project_id, key_hash, request_hash, salt, service_id)
    values (${request.project_id}, ${hashOf(request.idempotency_key)}, ${request.request_hash}, ${request.salt},
      ${request.service_id})
    on conflict do nothing returning service_id`)
  return rows.length === 1
}

function hashOf(idempotency_key: string): Buffer {
  return createHash('sha256').update(idempotency_key).digest()
}
