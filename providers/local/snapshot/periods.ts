// What can be restored from which snapshots. A service's data may have been exchanged, each time for those of an earlier moment: its life is
// then a row of periods, each on a path of the WAL of its own. A snapshot whose end is not on the path has diverged. Pure.
import type { Restorable } from '../../provider.ts'
import { isOnPath, type Path } from '../wal/timeline.ts'
import { segmentNumberOf } from '../../postgres/lsn.ts'
import { timelineOf } from '../wal/wal.ts'
import type { ClusterCopy } from './cluster-copy.ts'
import type { Snapshot } from './stored.ts'

/** Whether the service's WAL goes through the end of the snapshot, and from there to every later moment. */
export type LeadsOn = (snapshot: ClusterCopy) => boolean

/** Until which moment the service was on a path of its WAL; without it: it still is. */
export type Period = { until?: Date; leadsOn: LeadsOn }

/**
 * WAL that is not in the archive yet is in the WAL folder: every moment up to now, or to the end of a stopped service. From the newest
 * period backwards, as far as there is a snapshot from which the whole of a period is reached.
 */
export function restorableOf(complete: readonly Snapshot[], periods: readonly Period[]): Restorable | 'none' {
  let from: Date | undefined
  for (const [at, { leadsOn, until }] of [...periods.entries()].toReversed()) {
    const oldest = complete.find((one) => leadsOn(one) && (until === undefined || one.taken_at <= until))
    if (oldest === undefined) break
    const begin = periods[at - 1]?.until
    from = begin && begin > oldest.taken_at ? begin : oldest.taken_at
    if (from === oldest.taken_at) break
  }
  return from ? { from, until: 'now' } : 'none'
}

/** Those that are wanted, and those by which the diverged ones among them are reached. Where that is not known, all. */
export function neededFor(
  lasting: readonly Pick<Snapshot, 'snapshot_id'>[],
  complete: readonly Snapshot[],
  periods: readonly Period[] | undefined,
): Set<string> {
  if (periods === undefined) return new Set(complete.map(({ snapshot_id }) => snapshot_id))
  const kept = new Set(lasting.map(({ snapshot_id }) => snapshot_id))
  const starts = complete.flatMap((one) => {
    const leadsOn = periods.find(({ until }) => until === undefined || one.taken_at <= until)?.leadsOn
    if (!kept.has(one.snapshot_id) || leadsOn === undefined || leadsOn(one)) return []
    return startOf(complete, one.taken_at, leadsOn) ?? []
  })
  return new Set([...kept, ...starts.map(({ snapshot_id }) => snapshot_id)])
}

/** The snapshot from which a replay to this time begins; undefined when there is none. */
export const startOf = (complete: readonly Snapshot[], time: Date, leadsOn: LeadsOn): Snapshot | undefined =>
  complete.findLast((one) => one.taken_at <= time && leadsOn(one))

/** Whether the path goes through the end of the snapshot. */
export function isThrough(path: Path, { start_wal_file, end_position }: ClusterCopy, segment_bytes: number): boolean {
  const end = end_position ?? segmentNumberOf(start_wal_file, segment_bytes) * segment_bytes
  return isOnPath(path, timelineOf(start_wal_file), end)
}
