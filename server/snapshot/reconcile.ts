// What a look at a service means for its snapshots: those taken are written down, those gone are forgotten, a due one is
// asked for, and those past their time are asked to go. Runs in the transaction that ends the look.
import type { ObservedService } from '#providers/provider.ts'
import type { Sql } from '../store/db.ts'
import { newId } from '../id.ts'
import { insertEvent } from '../event.ts'
import { nudge } from '../work.ts'
import { expiredSnapshots, pressedPolicy, snapshotIsDue, type SnapshotPolicy } from './rules.ts'
import {
  insertSnapshot,
  listSnapshots,
  listSnapshotsInUse,
  removeSnapshots,
  saveLeftBehind,
  saveSnapshotDeleted,
  saveTaken,
  type SnapshotRow,
} from './store.ts'

/** What of its service decides about snapshots. */
type Owner = { service_id: string; power: 'on' | 'off'; deleted_at: Date | null; settled_generation: number }

type Look = {
  row: Owner
  snapshots: readonly SnapshotRow[]
  seen: ObservedService
  policy: SnapshotPolicy
  now: Date
}

/** True when a snapshot became complete: forks may be waiting for it. */
export async function saveSnapshots(tx: Sql, { row, snapshots, seen, policy, now }: Look): Promise<boolean> {
  let progress = false
  for (const snapshot of seen.snapshots) {
    const known = snapshots.find((one) => one.snapshot_id === snapshot.snapshot_id)
    if (known === undefined) continue
    if (snapshot.state === 'complete' && known.taken_at === null) {
      await saveTaken(tx, known.snapshot_id, snapshot)
      if (known.kind !== 'fork')
        await insertEvent(tx, row.service_id, 'snapshot', `snapshot ${known.snapshot_id} taken`)
      progress = true
    }
    if (snapshot.state === 'complete' && (snapshot.left_behind ?? false) !== known.left_behind) {
      await saveLeftBehind(tx, known.snapshot_id, snapshot.left_behind ?? false)
    }
    if (snapshot.state === 'absent' && known.deleted_at !== null) await removeSnapshots(tx, [known.snapshot_id])
  }
  const schedule = { policy: seen.archive_presses ? pressedPolicy(policy) : policy, now }
  if (row.settled_generation > 0) await saveSchedule(tx, row, schedule)
  return progress
}

type Schedule = { policy: SnapshotPolicy; now: Date }

async function saveSchedule(tx: Sql, { service_id, power, deleted_at }: Owner, schedule: Schedule) {
  const rows = await listSnapshots(tx, service_id)
  // A stopped service does not change: its last snapshot stays as good as it is. One that lives on for its forks needs no more.
  const due = power === 'on' && deleted_at === null && snapshotIsDue(rows, schedule)
  if (due) await insertSnapshot(tx, { snapshot_id: newId(), service_id, kind: 'scheduled' })
  const expired = expiredSnapshots(rows, { in_use: await listSnapshotsInUse(tx, service_id), ...schedule })
  if (expired.length > 0) await saveSnapshotDeleted(tx, expired)
  if (due || expired.length > 0) await nudge(tx, 'service', service_id)
}
