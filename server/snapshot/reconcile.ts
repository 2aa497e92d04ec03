// What a pass over a service means for its snapshots: those taken are recorded, the rows of those removed are deleted, a due one is
// requested, and those past their time are marked as deleted. Runs in the transaction that ends the pass.
import type { ObservedService } from '#providers/provider.ts'
import type { Sql } from '../store/db.ts'
import { newId } from '../id.ts'
import { insertEvent } from '../event.ts'
import { expiredSnapshots, policyFor, secondsUntilHurried, snapshotIsDue, type SnapshotPolicy } from './rules.ts'
import {
  insertSnapshot,
  listSnapshots,
  removeSnapshots,
  saveSnapshotDeleted,
  saveTaken,
  type SnapshotRow,
} from './store.ts'

/** What of its service decides about snapshots. */
type Owner = { service_id: string; power: 'on' | 'off'; deleted_at: Date | null; settled_generation: number }

type PassOverService = {
  row: Owner
  snapshots: readonly SnapshotRow[]
  observed: ObservedService
  policy: SnapshotPolicy
  /** Whether its region takes any. */
  is_offered: boolean
  now: Date
}

/**
 * `taken`: a snapshot became complete, and forks may be waiting for it. `scheduled`: one is to be taken, or removed, by the next pass, which
 * the caller brings about.
 */
export async function saveSnapshots(
  tx: Sql,
  { row, snapshots, observed, policy, is_offered, now }: PassOverService,
): Promise<{ taken: boolean; scheduled: boolean }> {
  let taken = false
  for (const snapshot of observed.snapshots) {
    const known = snapshots.find((one) => one.snapshot_id === snapshot.snapshot_id)
    if (known === undefined) continue
    if (snapshot.state === 'complete' && known.taken_at === null) {
      await saveTaken(tx, known.snapshot_id, snapshot)
      await insertEvent(tx, row.service_id, 'snapshot', `snapshot ${known.snapshot_id} taken`)
      taken = true
    }
    if (snapshot.state === 'absent' && known.deleted_at !== null) await removeSnapshots(tx, [known.snapshot_id])
  }
  const has_schedule = row.settled_generation > 0 && is_offered
  const scheduled = has_schedule && (await saveSchedule(tx, row, { policy: policyFor(policy, observed), now }))
  return { taken, scheduled }
}

/** How long the next pass can wait, for its snapshots. */
export const snapshotPaceOf = ({ row, snapshots, observed, policy, is_offered, now }: PassOverService): number =>
  row.settled_generation > 0 && is_offered && takesSnapshots(row)
    ? secondsUntilHurried(snapshots, observed, { policy, now })
    : Infinity

/** A stopped service does not change: its last snapshot stays as good as it is. A deleted service that its forks still need takes no more. */
const takesSnapshots = ({ power, deleted_at }: Owner) => power === 'on' && deleted_at === null

type Schedule = { policy: SnapshotPolicy; now: Date }

async function saveSchedule(tx: Sql, row: Owner, schedule: Schedule): Promise<boolean> {
  const { service_id } = row
  const rows = await listSnapshots(tx, service_id)
  const due = takesSnapshots(row) && snapshotIsDue(rows, schedule)
  if (due) await insertSnapshot(tx, { snapshot_id: newId(), service_id, kind: 'scheduled' })
  const expired = expiredSnapshots(rows, schedule.policy)
  if (expired.length > 0) await saveSnapshotDeleted(tx, expired)
  return due || expired.length > 0
}
