// The operator's phases, as sentences for the owner of a service. Pure.

/** A normal step of work that ends by itself. */
const steps: Readonly<Record<string, string>> = {
  'Setting up primary': 'its database is being made',
  'Creating a new replica': 'a replica is being made',
  'Switchover in progress': 'another node is made the primary',
  'Failing over': 'a replica takes over',
  'Upgrading cluster': 'its nodes are started with new settings, one after the other',
  'Primary instance is being restarted in-place': 'PostgreSQL is started with new settings',
  'Primary instance is being restarted without a switchover': 'PostgreSQL is started with new settings',
  'Waiting for the instances to become active': 'its nodes are starting',
  'Online upgrade in progress': 'the operator replaces its own program in the nodes',
  'Applying configuration': 'new settings are being applied',
}

const setbacks: Readonly<Record<string, string>> = {
  'Cluster has incomplete or invalid image catalog':
    'the image catalog of the region has no image for its version of PostgreSQL; add one',
  'Unable to create required cluster objects': 'the operator could not make an object that it needs',
  'Cluster cannot proceed to reconciliation due to an unknown plugin being required':
    'the operator does not know the backup plugin; install it',
  'Cluster cannot proceed to reconciliation due to an error while interacting with plugins':
    'the operator cannot reach its backup plugin',
}

export const plugin_name = 'barman-cloud.cloudnative-pg.io'
const unrecoverable = 'Cluster is unrecoverable and needs manual intervention'
export const healthy = 'Cluster in healthy state'

type PhaseWords = { waiting_for: string; in_progress: boolean; failed?: true }

/** Undefined: there is nothing to wait for. A phase that is not known here is named as it is. */
export function phaseWords(phase: string | undefined, reason: string | undefined): PhaseWords | undefined {
  if (phase === healthy) return undefined
  if (phase === undefined || phase === '')
    return { waiting_for: 'the operator has not begun with it', in_progress: true }
  if (phase === unrecoverable)
    return { waiting_for: withReason('the operator gave it up', reason), in_progress: false, failed: true }
  const step = steps[phase]
  if (step !== undefined) return { waiting_for: step, in_progress: true }
  return { waiting_for: withReason(setbacks[phase] ?? `the operator says: ${phase}`, reason), in_progress: false }
}

const withReason = (sentence: string, reason = '') => (reason === '' ? sentence : `${sentence} (${reason})`)
