// What a client waits for after a request: the service or the replica set in the answer or the path is at rest, the snapshot is complete,
// or what the path names is removed. A replica set can be read as a service, so getService tells both; a snapshot is told by the list of
// its service, which is at rest meanwhile. Pure; follow.ts reads.
import type { Endpoint } from './endpoint.ts'
import { isUnderWay, type ServiceStatus } from './service-status.ts'
import type { SnapshotStatus } from './snapshot.ts'

/** Of a service, a replica set read as one, or a snapshot; undefined where there is none any more. */
export type Seen = { status: ServiceStatus | SnapshotStatus } | undefined

/** Of which service or replica set to read the status; undefined where an endpoint leaves none to wait for. */
export function followedId(
  { follows }: Endpoint,
  path_ids: Readonly<Record<string, string>>,
  answer: unknown,
): string | undefined {
  if (follows === undefined || follows === 'snapshot' || 'snapshot_id' in path_ids) return undefined
  if (follows === 'gone') return path_ids['replica_set_id'] ?? path_ids['service_id']
  const answered = memberOf(answer, follows === 'service' ? 'service_id' : 'id')
  return answered ?? path_ids[`${follows}_id`]
}

/** Which snapshot to find in the list of its service. */
export function followedSnapshotId(
  { follows }: Endpoint,
  path_ids: Readonly<Record<string, string>>,
  answer: unknown,
): string | undefined {
  if (follows === 'snapshot') return memberOf(answer, 'id')
  return follows === 'gone' ? path_ids['snapshot_id'] : undefined
}

export function isAtRest({ follows }: Endpoint, seen: Seen): boolean {
  if (follows === undefined || seen === undefined) return true
  return follows !== 'gone' && seen.status !== 'taking' && seen.status !== 'deleting' && isSettled(seen.status)
}

/** Of what is at rest. A replica set that failed reads as UNSTABLE too. */
export function isAsWanted({ follows }: Endpoint, seen: Seen): boolean {
  return follows === 'gone' ? seen === undefined : seen !== undefined && seen.status !== 'UNSTABLE'
}

function isSettled(status: ServiceStatus | 'complete'): boolean {
  return status === 'complete' || !isUnderWay(status)
}

function memberOf(answer: unknown, name: string): string | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined
  const value: unknown = Object.entries(answer).find(([key]) => key === name)?.[1]
  return typeof value === 'string' ? value : undefined
}
