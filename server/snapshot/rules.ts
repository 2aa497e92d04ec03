// The rules of snapshots, pure: when one is due, which ones go, which moment a fork can start from.
import type { Static } from 'typebox'
import type { ForkStrategy, Snapshot } from '#contract/snapshot.ts'
import type { SnapshotRow } from './store.ts'

export type SnapshotPolicy = { interval_seconds: number; kept: number }

/** For a service whose archive takes too much of its disk quota: WAL goes with the snapshots before it, so a new one is taken. */
export function pressedPolicy({ interval_seconds }: SnapshotPolicy): SnapshotPolicy {
  return { interval_seconds: Math.min(interval_seconds, pressed_interval_seconds), kept: 1 }
}

/** A snapshot may be a copy of all that there is. */
const pressed_interval_seconds = 60

/** True when the newest snapshot that the schedule counts (taken or under way) is older than the interval. */
export function snapshotIsDue(
  rows: readonly SnapshotRow[],
  { policy, now }: { policy: SnapshotPolicy; now: Date },
): boolean {
  const counted = rows.filter((row) => isRegular(row) && leads(row))
  const newest = Math.max(0, ...counted.map((row) => row.requested_at.getTime()))
  return now.getTime() - newest >= policy.interval_seconds * 1000
}

/**
 * Which snapshots have served their time: scheduled ones beyond the number kept, the private ones of forks that are
 * made, and those that forks NOW have left, when a newer one is there, so however many such forks are made there is one of
 * these. Never one in use, never the newest complete one: the window of recovery stays whole. So one from which a
 * failover has led away does not count among those kept: nothing after it can be reached from it.
 */
export function expiredSnapshots(
  rows: readonly SnapshotRow[],
  { in_use, policy }: { in_use: readonly string[]; policy: SnapshotPolicy },
): string[] {
  const complete = byAge(rows).filter((row) => row.taken_at !== null && row.deleted_at === null)
  const newest_lasting = complete.find((row) => row.kind !== 'fork' && leads(row))
  const regular = complete.filter(isRegular)
  const beyond = regular.filter((_, at) => regular.slice(0, at).filter(leads).length >= policy.kept)
  const private_ones = rows.filter((row) => row.kind === 'fork' && row.deleted_at === null)
  const of_now = rows.filter((row) => row.kind === 'now' && row.deleted_at === null && isReplaced(row, rows))
  return [...beyond, ...private_ones, ...of_now]
    .filter((row) => row !== newest_lasting && !in_use.includes(row.snapshot_id))
    .map((row) => row.snapshot_id)
}

/** The moments that can be reached: from the oldest complete snapshot that leads to now. Undefined before the first one. */
export function restorableOf(rows: readonly SnapshotRow[], now: Date): { from: Date; until: Date } | undefined {
  const leading = lasting(rows).filter(leads)
  const times = leading.flatMap((row) => (row.taken_at === null ? [] : [row.taken_at.getTime()]))
  return times.length === 0 ? undefined : { from: new Date(Math.min(...times)), until: now }
}

/**
 * The snapshot that a fork stands on. LAST_SNAPSHOT: the newest complete one, or the one being taken when there is none yet,
 * or when a fork NOW has things that none of the complete ones has. PITR: the newest that was complete by the target and leads
 * there. NOW makes its own, so it has no answer here.
 */
export function sourceSnapshot(
  rows: readonly SnapshotRow[],
  strategy: Exclude<ForkStrategy, 'NOW'>,
  target: Date | undefined,
): SnapshotRow | undefined {
  const newest_first = byAge(lasting(rows))
  const complete = byMoment(newest_first)
  const of_now = newest_first.find((row) => row.kind === 'now' && row.taken_at === null)
  if (strategy === 'LAST_SNAPSHOT') return of_now ?? complete[0] ?? newest_first[0]
  return complete.find((row) => leads(row) && row.taken_at !== null && target !== undefined && row.taken_at <= target)
}

/**
 * A snapshot that a fork NOW leaves is taken when that fork is made: then it has all that the fork has, and the copy that a caller
 * waits for has the disk for itself. Forks that were asked for later do not hold it up.
 */
export function waitsForFork({ kind, requested_at }: SnapshotRow, rows: readonly SnapshotRow[]): boolean {
  const being_made = rows.filter((row) => row.kind === 'fork' && row.deleted_at === null)
  return kind === 'now' && being_made.some((row) => row.requested_at <= requested_at)
}

/** By a later moment that leads on; one that is not taken yet, by the next one of its kind. */
function isReplaced({ taken_at, requested_at }: SnapshotRow, rows: readonly SnapshotRow[]): boolean {
  if (taken_at === null) {
    return lasting(rows).some((row) => row.kind === 'now' && row.taken_at === null && row.requested_at > requested_at)
  }
  return lasting(rows).some((row) => leads(row) && row.taken_at !== null && row.taken_at > taken_at)
}

export function snapshotView(row: SnapshotRow): Static<typeof Snapshot> {
  const view: Static<typeof Snapshot> = {
    id: row.snapshot_id,
    kind: row.kind,
    status: row.deleted_at !== null ? 'deleting' : row.taken_at === null ? 'taking' : 'complete',
    requested: row.requested_at.toISOString(),
  }
  if (row.taken_at !== null) view.taken = row.taken_at.toISOString()
  if (row.size_bytes !== null) view.size_mb = Math.ceil(row.size_bytes / 1e6)
  return view
}

/** To every later moment, up to now. */
const leads = ({ left_behind }: SnapshotRow) => !left_behind

/** By the schedule, not because somebody asked. */
const isRegular = ({ kind }: SnapshotRow) => kind === 'initial' || kind === 'scheduled'

/** Those that recovery may stand on: not on their way out, and not the private ones of a fork. */
function lasting(rows: readonly SnapshotRow[]): SnapshotRow[] {
  return rows.filter((row) => row.deleted_at === null && row.kind !== 'fork')
}

/** Those that are complete, newest first. */
function byMoment(rows: readonly SnapshotRow[]): SnapshotRow[] {
  const moment = ({ taken_at }: SnapshotRow) => taken_at?.getTime() ?? 0
  return rows.filter(({ taken_at }) => taken_at !== null).toSorted((a, b) => moment(b) - moment(a))
}

function byAge(rows: readonly SnapshotRow[]): SnapshotRow[] {
  return rows.toSorted((a, b) => b.requested_at.getTime() - a.requested_at.getTime())
}
