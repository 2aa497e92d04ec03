// How many nodes a Cluster has next, and for how many of them a commit waits, on the way to what is wanted. Pure. New nodes come first
// and are waited for when they are there; before nodes go, commits stop to wait for them: in one change both ways block writes.
import type { WantedService } from '../../provider.ts'
import type { Cluster } from '../api/kinds.ts'

export type Counts = { instances: number; sync: number }

export const wantedCounts = ({ ha }: Pick<WantedService, 'ha'>): Counts => ({
  instances: 1 + (ha?.replica_count ?? 0),
  sync: ha?.sync_replica_count ?? 0,
})

export function liveCounts({ spec }: Cluster): Counts {
  const { postgresql } = spec
  // The form in which clusterOf writes it.
  const sync = (postgresql as { synchronous?: { number?: number } } | undefined)?.synchronous?.number ?? 0
  return { instances: spec.instances ?? 1, sync }
}

/** `waited_for`: how many replicas a commit may wait for at this moment, where the primary was asked. */
export function nextCounts(wanted: Pick<WantedService, 'ha'>, cluster: Cluster | undefined, waited_for = 0): Counts {
  const goal = wantedCounts(wanted)
  if (cluster === undefined) return { ...goal, sync: 0 }
  const live = liveCounts(cluster)
  const fewer = Math.min(live.sync, goal.sync)
  if (goal.instances > live.instances) return { instances: goal.instances, sync: fewer }
  if (goal.instances < live.instances) {
    const still_waits = live.sync > goal.sync || (goal.sync === 0 && waited_for > 0)
    return still_waits ? { instances: live.instances, sync: goal.sync } : { ...goal, sync: live.sync }
  }
  const all_ready = (cluster.status?.readyInstances ?? 0) >= goal.instances
  return { instances: goal.instances, sync: all_ready ? goal.sync : fewer }
}

export const losesNodes = (wanted: Pick<WantedService, 'ha'>, cluster: Cluster | undefined): boolean =>
  cluster !== undefined && wantedCounts(wanted).instances < liveCounts(cluster).instances
