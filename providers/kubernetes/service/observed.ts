// What a service is, from what exists in the cell and from a login at its address. Pure. The operator says of no change whether it
// has seen it, and says healthy for seconds after one; so a change counts as made when its effect is there.
import type { Probe } from '../../postgres/probe.ts'
import type { ObservedService, WantedService } from '../../provider.ts'
import type { Cluster } from '../api/kinds.ts'
import { phaseWords } from '../phase.ts'
import type { Overcommit } from '../sizes.ts'
import { hasResources, inProgress, type Lack, probeLack, seenWith } from '../cluster/lack.ts'
import { versionOf } from '../cluster/version.ts'
import { liveCounts, wantedCounts } from './counts.ts'
import { instancesOf, isReady, type Look } from '../cluster/look.ts'
import { podTrouble } from '../cluster/pod-trouble.ts'
import { hasHibernated } from '../cluster/power.ts'
import { type Replication, replicationLack } from './replication.ts'
import { switchoverOf } from './switchover.ts'

type ObservedSpec = {
  wanted: WantedService
  settings: Overcommit
  look: Look
  /** Undefined: no node of it could answer. */
  probed: Probe | undefined
  /** Undefined: no primary was asked. */
  replication?: Replication | undefined
  /** What its pooler lacks. */
  pooler?: Lack | undefined
  /** A job that failed. */
  job?: Lack | undefined
}

export function observedOf(spec: ObservedSpec): ObservedService {
  const { wanted, look, probed } = spec
  const { cluster } = look
  if (cluster === undefined) return observed('absent', { waiting_for: 'it is being made', in_progress: true })
  const version = versionOf(cluster)
  const of_version = version === undefined ? {} : { postgres_version: version }
  if (hasHibernated(cluster, look.pods)) {
    const lack = { waiting_for: 'its nodes are starting', in_progress: true }
    return { ...observed('stopped', wanted.power === 'off' ? undefined : lack), ...of_version }
  }
  const state = probed === undefined || probed.result === 'failed' ? 'not_serving' : 'serving'
  return { ...observed(state, lackOf(spec, cluster)), ...of_version }
}

export function observed(state: ObservedService['state'], lack: Lack | undefined): ObservedService {
  return { ...seenWith(state, lack), snapshots: [] }
}

/** The first thing that is missing; undefined: all that is wanted holds. */
function lackOf(spec: ObservedSpec, cluster: Cluster): Lack | undefined {
  const { wanted, look, probed, replication, pooler, job } = spec
  const { pods } = look
  if (wanted.power === 'off') return { waiting_for: 'its nodes are stopping', in_progress: true }
  return (
    podTrouble(pods) ??
    job ??
    phaseLack(cluster) ??
    nodesLack(spec, cluster) ??
    probeLack(probed) ??
    inProgress(switchoverOf(wanted, cluster, pods).waiting_for) ??
    replicationLack(wanted, replication) ??
    pooler
  )
}

const phaseLack = ({ status }: Cluster) => phaseWords(status?.phase, status?.phaseReason)

function nodesLack({ wanted, settings, look }: ObservedSpec, cluster: Cluster): Lack | undefined {
  const goal = wantedCounts(wanted)
  const live = liveCounts(cluster)
  const nodes = instancesOf(look.pods)
  if (nodes.length > goal.instances) return inProgress('a replica is being removed')
  if (live.instances !== goal.instances || nodes.filter(isReady).length < goal.instances)
    return inProgress(goal.instances === 1 ? 'its node is starting' : 'its nodes are starting')
  if (!nodes.every((pod) => hasResources(pod, wanted.size, settings)))
    return inProgress('its nodes are started with their new size')
  if (live.sync !== goal.sync || live.quorum !== goal.quorum)
    return inProgress('commits do not wait for the wanted number of replicas yet')
  return undefined
}
