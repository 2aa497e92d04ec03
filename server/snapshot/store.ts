// The snapshots table. One statement a function.
import type { SnapshotKind } from '#contract/snapshot.ts'
import type { Sql } from '../store/db.ts'
import { fragment, sql } from '../store/sql.ts'

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

const columns = fragment`snapshot_id, service_id, kind, requested_at, deleted_at, taken_at, size_bytes, left_behind`

export async function insertSnapshot(tx: Sql, row: Pick<SnapshotRow, 'snapshot_id' | 'service_id' | 'kind'>) {
  const [inserted] = await tx.query(sql<SnapshotRow>`
    insert into snapshots (snapshot_id, service_id, kind) values (${row.snapshot_id}, ${row.service_id}, ${row.kind})
    returning ${columns}`)
  if (inserted === undefined) throw new Error('an insert returned no row')
  return inserted
}

/** Newest first. */
export async function listSnapshots(db: Sql, service_id: string): Promise<SnapshotRow[]> {
  return db.query(sql<SnapshotRow>`
    select ${columns} from snapshots where service_id = ${service_id} order by requested_at desc, snapshot_id`)
}

export async function saveTaken(tx: Sql, snapshot_id: string, seen: { taken_at: Date; size_bytes: number }) {
  await tx.query(sql`
    update snapshots set taken_at = ${seen.taken_at}, size_bytes = ${seen.size_bytes} where snapshot_id = ${snapshot_id}`)
}

export async function saveLeftBehind(tx: Sql, snapshot_id: string, left_behind: boolean): Promise<void> {
  await tx.query(sql`update snapshots set left_behind = ${left_behind} where snapshot_id = ${snapshot_id}`)
}

export async function saveSnapshotDeleted(tx: Sql, snapshot_ids: readonly string[]): Promise<void> {
  await tx.query(sql`
    update snapshots set deleted_at = now() where snapshot_id = any (${snapshot_ids}) and deleted_at is null`)
}

export async function removeSnapshots(tx: Sql, snapshot_ids: readonly string[]): Promise<void> {
  await tx.query(sql`delete from snapshots where snapshot_id = any (${snapshot_ids})`)
}

/** The snapshots that forks still being made stand on. */
export async function listSnapshotsInUse(db: Sql, service_id: string): Promise<string[]> {
  const rows = await db.query(sql<{ source_snapshot_id: string }>`
    select source_snapshot_id from services
    where source_service_id = ${service_id} and settled_generation = 0 and deleted_at is null and not source_failed`)
  return rows.map((row) => row.source_snapshot_id)
}
