// The snapshots table. One statement a function.
import type { SnapshotKind } from '#contract/snapshot.ts'
import type { Sql } from '../store/db.ts'

export type SnapshotRow = {
  snapshot_id: string
  service_id: string
  kind: SnapshotKind
  requested_at: Date
  deleted_at: Date | null
  taken_at: Date | null
  size_bytes: number | null
  /** No later moment can be reached from it: a failover has led away from what it holds. */
  left_behind: boolean
}

export async function insertSnapshot(tx: Sql, row: Pick<SnapshotRow, 'snapshot_id' | 'service_id' | 'kind'>) {
  const [inserted] = await tx.query<SnapshotRow>(
    `insert into snapshots (snapshot_id, service_id, kind) values ($1, $2, $3) returning *`,
    [row.snapshot_id, row.service_id, row.kind],
  )
  if (inserted === undefined) throw new Error('an insert returned no row')
  return inserted
}

/** Newest first. */
export async function listSnapshots(sql: Sql, service_id: string): Promise<SnapshotRow[]> {
  return sql.query<SnapshotRow>(
    `select * from snapshots where service_id = $1 order by requested_at desc, snapshot_id`,
    [service_id],
  )
}

export async function saveTaken(tx: Sql, snapshot_id: string, seen: { taken_at: Date; size_bytes: number }) {
  await tx.query(`update snapshots set taken_at = $2, size_bytes = $3 where snapshot_id = $1`, [
    snapshot_id,
    seen.taken_at,
    seen.size_bytes,
  ])
}

export async function saveLeftBehind(tx: Sql, snapshot_id: string, left_behind: boolean): Promise<void> {
  await tx.query(`update snapshots set left_behind = $2 where snapshot_id = $1`, [snapshot_id, left_behind])
}

export async function saveSnapshotDeleted(tx: Sql, snapshot_ids: readonly string[]): Promise<void> {
  await tx.query(`update snapshots set deleted_at = now() where snapshot_id = any ($1) and deleted_at is null`, [
    snapshot_ids,
  ])
}

export async function removeSnapshots(tx: Sql, snapshot_ids: readonly string[]): Promise<void> {
  await tx.query(`delete from snapshots where snapshot_id = any ($1)`, [snapshot_ids])
}

/** The snapshots that forks still being made stand on. */
export async function listSnapshotsInUse(sql: Sql, service_id: string): Promise<string[]> {
  const rows = await sql.query<{ source_snapshot_id: string }>(
    `select source_snapshot_id from services
     where source_service_id = $1 and settled_generation = 0 and deleted_at is null and not source_failed`,
    [service_id],
  )
  return rows.map((row) => row.source_snapshot_id)
}
