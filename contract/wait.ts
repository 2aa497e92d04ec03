// What a client waits for after a request: the service or the replica set in the answer or the path is at rest, or what the path names
// is removed. A replica set can be read as a service, so all of it is told by getService. Pure.
import type { Endpoint } from './endpoint.ts'
import { isUnderWay, type ServiceStatus } from './service-status.ts'

/** Whose status to read; undefined where an endpoint leaves nothing to wait for. */
export function followedId(
  { follows }: Endpoint,
  path_ids: Readonly<Record<string, string>>,
  answer: unknown,
): string | undefined {
  // A snapshot is followed in the list of snapshots, and its service is at rest meanwhile.
  if (follows === undefined || follows === 'snapshot' || 'snapshot_id' in path_ids) return undefined
  if (follows === 'gone') return path_ids['replica_set_id'] ?? path_ids['service_id']
  const answered = memberOf(answer, follows === 'service' ? 'service_id' : 'id')
  return answered ?? path_ids[`${follows}_id`]
}

/** answer: of getService; undefined after a 404. */
export function isAtRest({ follows }: Endpoint, answer: { status: ServiceStatus } | undefined): boolean {
  return follows === undefined || answer === undefined || (follows !== 'gone' && !isUnderWay(answer.status))
}

/** Of what is at rest. A replica set that failed reads as UNSTABLE too. */
export function isAsWanted({ follows }: Endpoint, answer: { status: ServiceStatus } | undefined): boolean {
  return follows === 'gone' ? answer === undefined : answer !== undefined && answer.status !== 'UNSTABLE'
}

function memberOf(answer: unknown, name: string): string | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined
  const value: unknown = Object.entries(answer).find(([key]) => key === name)?.[1]
  return typeof value === 'string' ? value : undefined
}
