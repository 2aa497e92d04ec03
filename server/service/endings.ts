// Services that come to their end, and those that have: their rows in short. One statement a function. What is due is due by the clock of
// the store, which all servers share.
import assert from 'node:assert/strict'
import type { Sql } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { ServiceRow } from './store.ts'

export async function getStoreTime(db: Sql): Promise<Date> {
  const [row] = await db.query(sql<{ now: Date }>`select now()`)
  assert(row, 'there is always a time')
  return row.now
}

export type ExpiringRow = Pick<ServiceRow, 'service_id' | 'project_id' | 'expires_at' | 'expiry_told_at'>

const rows_max = 1000

export async function listExpiring(db: Sql, seconds: number): Promise<ExpiringRow[]> {
  return db.query(sql<ExpiringRow>`
    select service_id, project_id, expires_at, expiry_told_at from services
    where expires_at <= now() + make_interval(secs => ${seconds}) and deleted_at is null order by expires_at limit ${rows_max}`)
}

export type DeletedRow = Pick<ServiceRow, 'service_id' | 'name' | 'created' | 'region_code' | 'environment'> & {
  deleted_at: Date
  kept_until: Date
}

/** Those that can be restored, the last deleted first. */
export async function listDeletedServices(db: Sql, project_id: string): Promise<DeletedRow[]> {
  return db.query(sql<DeletedRow>`
    select service_id, name, created, region_code, environment, deleted_at, kept_until from services
    where project_id = ${project_id} and kept_until is not null order by deleted_at desc, service_id`)
}

export async function listKeptLongEnough(db: Sql): Promise<{ service_id: string; project_id: string }[]> {
  return db.query(sql<{ service_id: string; project_id: string }>`
    select service_id, project_id from services where kept_until <= now() order by kept_until limit ${rows_max}`)
}

/** False when it was restored, or is to be removed, meanwhile. */
export async function saveEnded(tx: Sql, service_id: string): Promise<boolean> {
  const rows = await tx.query(sql`
    update services set ended_at = now() where service_id = ${service_id} and kept_until is not null returning service_id`)
  return rows.length === 1
}
