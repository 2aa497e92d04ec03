// The rules of snapshots, pure: when one is due, which ones go, which moment a fork can start from.
import type { Static } from 'typebox'
import type { Snapshot } from '#contract/snapshot.ts'
import type { ObservedService } from '#providers/provider.ts'
import type { SnapshotRow, StoredSnapshot } from './store.ts'

export type SnapshotPolicy = { interval_seconds: number; kept: number }

/**
 * A service whose archive takes too much of its disk quota needs a new snapshot soon, so that the WAL before it can be removed; and so
 * does a service of which no moment can be restored, because a failover made all its snapshots diverge.
 */
export function policyFor({ interval_seconds, kept }: SnapshotPolicy, observed: Pressing): SnapshotPolicy {
  return {
    interval_seconds: isHurried(observed) ? Math.min(interval_seconds, hurried_interval_seconds) : interval_seconds,
    kept: observed.archive_presses ? 1 : kept,
  }
}

type Pressing = Pick<ObservedService, 'archive_presses' | 'restorable'>

const isHurried = ({ archive_presses, restorable }: Pressing) => archive_presses === true || restorable === 'none'

/** A snapshot may be a copy of all that there is. */
const hurried_interval_seconds = 60

/** True when the newest snapshot of the schedule is older than the interval, and none is under way. */
export const snapshotIsDue = (rows: readonly SnapshotRow[], schedule: Schedule): boolean =>
  secondsUntilDue(rows, schedule) <= 0

type Schedule = { policy: SnapshotPolicy; now: Date }

/** The clock of the store, by which one is requested, and that of the server. */
const clocks_differ_seconds_max = 3_600

function secondsUntilDue(rows: readonly SnapshotRow[], { policy, now }: Schedule): number {
  const regular = rows.filter(isRegular)
  if (lasting(regular).some((row) => row.taken_at === null)) return Infinity
  const ages = regular.map((row) => (now.getTime() - row.requested_at.getTime()) / 1000)
  // A clock that was ahead when one was requested, and was set right since, must not end the schedule.
  const ahead_seconds_max = Math.max(policy.interval_seconds, clocks_differ_seconds_max)
  const age_seconds = Math.min(Infinity, ...ages.filter((age) => age > -ahead_seconds_max))
  return policy.interval_seconds - age_seconds
}

/** How long a pass over the service can wait: while its writes may be refused for want of a snapshot, until the next one is due. */
export function secondsUntilHurried(
  rows: readonly SnapshotRow[],
  observed: Pressing,
  { policy, now }: Schedule,
): number {
  if (!isHurried(observed)) return Infinity
  return Math.max(hurried_pass_seconds, secondsUntilDue(rows, { policy: policyFor(policy, observed), now }))
}

/** A snapshot that is due already is requested by this pass. */
const hurried_pass_seconds = 1

/**
 * Which snapshots have served their time: scheduled ones beyond the number kept; those that forks NOW have left, when a newer one is
 * there, so that one of these remains however many such forks are made; and the states before all rewinds but the last. Never one in
 * use, and never the newest complete one: the window of recovery stays whole.
 */
export function expiredSnapshots(rows: readonly SnapshotRow[], policy: SnapshotPolicy): string[] {
  const complete = byAge(lasting(rows)).filter((row) => row.taken_at !== null)
  const beyond = complete.filter(isRegular).slice(policy.kept)
  const of_now = lasting(rows).filter((row) => row.kind === 'now' && isReplaced(row, rows))
  const rewinds = complete.filter((row) => row.kind === 'rewind').slice(1)
  // Two that are requested at once may be taken in the other order.
  const [newest] = byMoment(complete)
  return [...beyond, ...of_now, ...rewinds].filter((row) => row !== newest && !row.in_use).map((row) => row.snapshot_id)
}

type Window = { from: Date; until: Date }

/** The moments that can be reached, as they were observed. Undefined: none. Those that only a snapshot on its way out has do not count. */
export function restorableOf(
  { restorable_from, restorable_until }: { restorable_from: Date | null; restorable_until: Date | null },
  rows: readonly SnapshotRow[],
  now: Date,
): Window | undefined {
  const oldest = byMoment(lasting(rows)).at(-1)?.taken_at
  if (restorable_from === null || !oldest) return undefined
  const from = oldest > restorable_from ? oldest : restorable_from
  const until = restorable_until ?? now
  return from <= until ? { from, until } : undefined
}

/**
 * The newest snapshot, for a fork: the newest complete one, or the one being taken when there is none yet, or when a fork NOW has
 * things that none of the complete ones has.
 */
export function lastSnapshot(rows: readonly SnapshotRow[]): SnapshotRow | undefined {
  const newest_first = byAge(lasting(rows))
  const of_now = newest_first.find((row) => row.kind === 'now' && row.taken_at === null)
  return of_now ?? byMoment(newest_first)[0] ?? newest_first[0]
}

/** By a later moment; a snapshot that is not taken yet, by the next one of its kind. */
function isReplaced({ taken_at, requested_at }: SnapshotRow, rows: readonly SnapshotRow[]): boolean {
  if (taken_at === null) {
    return lasting(rows).some((row) => row.kind === 'now' && row.taken_at === null && row.requested_at > requested_at)
  }
  return lasting(rows).some((row) => row.taken_at !== null && row.taken_at > taken_at)
}

export function snapshotView(row: StoredSnapshot): Static<typeof Snapshot> {
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

/** Taken by the schedule, not by a request. */
const isRegular = ({ kind }: SnapshotRow) => kind === 'initial' || kind === 'scheduled'

/** Those that are not on their way out. */
function lasting(rows: readonly SnapshotRow[]): SnapshotRow[] {
  return rows.filter((row) => row.deleted_at === null)
}

/** Those that are complete, newest first. */
function byMoment(rows: readonly SnapshotRow[]): SnapshotRow[] {
  const moment = ({ taken_at }: SnapshotRow) => taken_at?.getTime() ?? 0
  return rows.filter(({ taken_at }) => taken_at !== null).toSorted((a, b) => moment(b) - moment(a))
}

function byAge(rows: readonly SnapshotRow[]): SnapshotRow[] {
  return rows.toSorted((a, b) => b.requested_at.getTime() - a.requested_at.getTime())
}
