// The snapshots table. One statement a function.
import type { SnapshotKind } from '#contract/snapshot.ts'
import type { Sql } from '../store/db.ts'
import { fragment, sql } from '../store/sql.ts'

export type StoredSnapshot = {
  snapshot_id: string
  service_id: string
  kind: SnapshotKind
  requested_at: Date
  deleted_at: Date | null
  taken_at: Date | null
  size_bytes: number | null
}

export type SnapshotRow = StoredSnapshot & {
  /** A fork that is being made, or a rewind, may stand on it. */
  in_use: boolean
  /**
   * A fork NOW leaves it, and is being made: the snapshot is taken after it, so that it has all that the fork has, and the copy that a
   * caller waits for has the disk for itself. Later forks do not delay it.
   */
  awaits_fork: boolean
}

const columns = fragment`snapshot_id, service_id, kind, requested_at, deleted_at, taken_at, size_bytes`

export async function insertSnapshot(tx: Sql, row: Pick<SnapshotRow, 'snapshot_id' | 'service_id' | 'kind'>) {
  const [inserted] = await tx.query(sql<StoredSnapshot>`
    insert into snapshots (snapshot_id, service_id, kind) values (${row.snapshot_id}, ${row.service_id}, ${row.kind})
    returning ${columns}`)
  if (inserted === undefined) throw new Error('an insert returned no row')
  return inserted
}

/** Newest first. */
export async function listSnapshots(db: Sql, service_id: string): Promise<SnapshotRow[]> {
  return db.query(sql<SnapshotRow>`
    with fork as (
      select source_strategy as strategy, source_snapshot_id, source_time, created from services
      where source_service_id = ${service_id} and settled_generation = 0 and deleted_at is null and not source_failed)
    select ${columns},
      exists (select from fork where source_snapshot_id = snapshot_id or strategy = 'PITR' and source_time >= taken_at)
        or exists (select from services where service_id = ${service_id} and (exchange->>'generation')::int > settled_generation
          and (exchange->>'at')::timestamptz >= taken_at) as in_use,
      kind = 'now' and exists (select from fork where strategy = 'NOW' and created <= requested_at) as awaits_fork
    from snapshots where service_id = ${service_id} order by requested_at desc, snapshot_id`)
}

export async function saveTaken(tx: Sql, snapshot_id: string, seen: { taken_at: Date; size_bytes: number }) {
  await tx.query(sql`
    update snapshots set taken_at = ${seen.taken_at}, size_bytes = ${seen.size_bytes} where snapshot_id = ${snapshot_id}`)
}

export async function saveSnapshotDeleted(tx: Sql, snapshot_ids: readonly string[]): Promise<void> {
  await tx.query(sql`
    update snapshots set deleted_at = now() where snapshot_id = any (${snapshot_ids}) and deleted_at is null`)
}

export async function removeSnapshots(tx: Sql, snapshot_ids: readonly string[]): Promise<void> {
  await tx.query(sql`delete from snapshots where snapshot_id = any (${snapshot_ids})`)
}
