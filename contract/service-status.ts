// The status of a service: a pure function of wanted and observed, and which operation each status
// accepts. Nothing stores a status; a request that starts work sees the transitional one in its own answer.

export const service_statuses = [
  'QUEUED',
  'DELETING',
  'CONFIGURING',
  'READY',
  'DELETED',
  'UNSTABLE',
  'PAUSING',
  'PAUSED',
  'RESUMING',
  'UPGRADING',
  'OPTIMIZING',
] as const
export type ServiceStatus = (typeof service_statuses)[number]

/** The service as the last pass observed it. `unknown`: there was no pass yet, or it failed. */
export type ServiceState = 'unknown' | 'absent' | 'stopped' | 'serving' | 'not_serving'

export type StatusInput = {
  /** Wanted. Generations rise with every change; these two are the ones at which power and shape last changed. */
  deleted: boolean
  power: 'on' | 'off'
  power_generation: number
  shape_generation: number
  /** Observed. The generation that was last made true in full (0: never), and the state that was last observed. */
  settled_generation: number
  state: ServiceState
  /** Creation has been failing for longer than creation_patience_seconds. */
  out_of_patience: boolean
}

export const creation_patience_seconds = 600

export function statusOf(it: StatusInput): ServiceStatus {
  if (it.deleted) return 'DELETING'
  if (it.settled_generation === 0) {
    if (it.out_of_patience) return 'UNSTABLE'
    return it.state === 'unknown' ? 'QUEUED' : 'CONFIGURING'
  }
  // Nothing is left of it where it was.
  if (it.state === 'absent') return 'UNSTABLE'
  if (it.power === 'off') {
    return it.settled_generation >= it.power_generation && it.state === 'stopped' ? 'PAUSED' : 'PAUSING'
  }
  if (it.settled_generation < it.power_generation) return 'RESUMING'
  if (it.settled_generation < it.shape_generation) return 'CONFIGURING'
  return it.state === 'serving' ? 'READY' : 'UNSTABLE'
}

/** Whether something is being done, after which it has another status. */
export function isUnderWay(status: ServiceStatus): boolean {
  return !['READY', 'UNSTABLE', 'PAUSED', 'DELETED'].includes(status)
}

/** `stuck`: CONFIGURING after it was READY, while something keeps the change from being made. People can go back. */
export type Acceptable = ServiceStatus | 'stuck'

export const accepted_statuses = {
  stop: ['READY', 'UNSTABLE'],
  start: ['PAUSED'],
  resize: ['READY', 'stuck'],
  attach: ['READY'],
  fork: ['READY', 'PAUSED', 'UNSTABLE'],
  update_password: ['READY'],
  set_ha: ['READY', 'stuck'],
  switchover: ['READY'],
  pooler: ['READY'],
  replica_set: ['READY'],
  snapshot: ['READY', 'PAUSED', 'UNSTABLE'],
  rewind: ['READY', 'UNSTABLE'],
  query: ['READY', 'UNSTABLE'],
  describe: service_statuses.filter((status) => status !== 'DELETING'),
} as const satisfies Record<string, readonly Acceptable[]>
