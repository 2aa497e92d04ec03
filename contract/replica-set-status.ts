// The status of a read replica set: a pure function of wanted and observed, like a service's. Also how it
// reads as the status of a service, because a set can be read as one.
import type { ServiceState, ServiceStatus } from './service-status.ts'

export const replica_set_statuses = ['creating', 'active', 'resizing', 'deleting', 'error'] as const
export type ReplicaSetStatus = (typeof replica_set_statuses)[number]

export type ReplicaSetStatusInput = {
  /** Wanted. shape_generation: the one at which the size last changed. */
  deleted: boolean
  shape_generation: number
  /** Observed. The generation that was last made true in full; 0: never. */
  settled_generation: number
  /** For how long every pass has failed; null: the last one did not. */
  failing_seconds: number | null
}

/** A shorter failure is mended before a caller needs to know. */
export const failure_patience_seconds = 120

export function replicaSetStatusOf(it: ReplicaSetStatusInput): ReplicaSetStatus {
  if (it.deleted) return 'deleting'
  if (it.failing_seconds !== null && it.failing_seconds > failure_patience_seconds) return 'error'
  if (it.settled_generation === 0) return 'creating'
  return it.settled_generation < it.shape_generation ? 'resizing' : 'active'
}

const service_status_of = {
  creating: 'CONFIGURING',
  active: 'READY',
  resizing: 'CONFIGURING',
  deleting: 'DELETING',
  error: 'UNSTABLE',
} as const satisfies Record<ReplicaSetStatus, ServiceStatus>

/** `power`: of its service. An active set that does not answer right now is not READY: the word promises a login. */
export function statusAsService(status: ReplicaSetStatus, state: ServiceState, power: 'on' | 'off'): ServiceStatus {
  if (status !== 'deleting' && power === 'off') return 'PAUSED'
  return status === 'active' && state !== 'serving' ? 'UNSTABLE' : service_status_of[status]
}

export const accepted_set_statuses = {
  resize: ['active', 'error'],
  pooler: ['active'],
  describe: replica_set_statuses.filter((status) => status !== 'deleting'),
} as const satisfies Record<string, readonly ReplicaSetStatus[]>
