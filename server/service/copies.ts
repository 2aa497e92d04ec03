// What is copied from one service into another, or into itself: which copies are pending, and those that can never be made.
import type { Sql } from '../store/db.ts'
import { sql } from '../store/sql.ts'

export type ExchangeRow = {
  exchange_id: string
  generation: number
  service_id: string
  /** A moment of the service in UTC, to the microsecond; absent: its present. */
  at?: string
  /** A snapshot of the state before. */
  kept_as?: string
  /** The snapshots that go with the state before. */
  dropped?: string[]
}

/** Forks of this service that have no data of their own yet, or are to have its present again. */
export async function listForksBeingMade(db: Sql, service_id: string): Promise<string[]> {
  const rows = await db.query(sql<{ service_id: string }>`
    select service_id from services
    where source_service_id = ${service_id} and deleted_at is null and (settled_generation = 0 and not source_failed
      or exchange->>'service_id' = ${service_id} and (exchange->>'generation')::int > settled_generation)`)
  return rows.map((row) => row.service_id)
}

/** Forks of this service in other regions that have no data of their own yet. */
export async function listForksAcross(
  db: Sql,
  { service_id, region_code }: { service_id: string; region_code: string },
): Promise<string[]> {
  const rows = await db.query(
    sql<{ service_id: string }>`
      select service_id from services
      where source_service_id = ${service_id} and region_code <> ${region_code} and deleted_at is null
        and settled_generation = 0 and not source_failed
      order by service_id`,
    'list forks across',
  )
  return rows.map((row) => row.service_id)
}

export async function saveSourceFailed(tx: Sql, service_id: string): Promise<void> {
  await tx.query(sql`update services set source_failed = true where service_id = ${service_id}`)
}

/**
 * Its data stays as it is, and the exchange is not undone: the snapshot that was to keep the state before goes, and those that were to go
 * with that state stay.
 */
export async function saveExchangeRefused(tx: Sql, service_id: string): Promise<void> {
  await tx.query(sql`
    update snapshots set deleted_at = now() from services
    where services.service_id = ${service_id} and snapshot_id = exchange->>'kept_as' and snapshots.deleted_at is null`)
  await tx.query(sql`
    update snapshots set deleted_at = null from services
    where services.service_id = ${service_id} and snapshots.service_id = ${service_id} and exchange->'dropped' ? snapshot_id`)
  await tx.query(sql`update services set exchange = null where service_id = ${service_id}`)
}
