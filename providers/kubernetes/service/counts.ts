// How many nodes a Cluster has next, and for how many of them a commit waits, on the way to what is wanted. Pure. New nodes come first
// and are waited for when they are there; before nodes go, commits stop to wait for them: in one change both ways block writes. That a
// failover needs a quorum comes last: in one change with the waiting, an operator that is slower than its own nodes leaves the settings of
// the primary unread for ever (seen in CloudNativePG 1.30).
import type { WantedService } from '../../provider.ts'
import type { Cluster } from '../api/kinds.ts'

export type Counts = { instances: number; sync: number; quorum: boolean }

export const wantedCounts = ({ ha }: Pick<WantedService, 'ha'>): Counts => ({
  instances: 1 + (ha?.replica_count ?? 0),
  sync: ha?.sync_replica_count ?? 0,
  quorum: (ha?.sync_replica_count ?? 0) > 0,
})

export function liveCounts({ spec }: Cluster): Counts {
  const { postgresql } = spec
  // The form in which clusterOf writes it.
  const { number: sync = 0, failoverQuorum: quorum = false } =
    (postgresql as { synchronous?: { number?: number; failoverQuorum?: boolean } } | undefined)?.synchronous ?? {}
  return { instances: spec.instances ?? 1, sync, quorum }
}

/** `waited_for`: how many replicas a commit may wait for at this moment, where the primary was asked. */
export function nextCounts(wanted: Pick<WantedService, 'ha'>, cluster: Cluster | undefined, waited_for = 0): Counts {
  const next = nextNodes(wanted, cluster, waited_for)
  if (cluster === undefined || next.sync === 0) return { ...next, quorum: false }
  const live = liveCounts(cluster)
  return { ...next, quorum: live.quorum || (live.sync === next.sync && waited_for >= live.sync) }
}

function nextNodes(wanted: Pick<WantedService, 'ha'>, cluster: Cluster | undefined, waited_for: number) {
  const goal = wantedCounts(wanted)
  if (cluster === undefined) return { instances: goal.instances, sync: 0 }
  const live = liveCounts(cluster)
  const fewer = Math.min(live.sync, goal.sync)
  if (goal.instances > live.instances) return { instances: goal.instances, sync: fewer }
  if (goal.instances < live.instances) {
    const still_waits = live.sync > goal.sync || (goal.sync === 0 && waited_for > 0)
    return still_waits ? { instances: live.instances, sync: goal.sync } : { instances: goal.instances, sync: live.sync }
  }
  const all_ready = (cluster.status?.readyInstances ?? 0) >= goal.instances
  return { instances: goal.instances, sync: all_ready ? goal.sync : fewer }
}

/** Whether the next counts depend on what the primary says. */
export function asksPrimary(wanted: Pick<WantedService, 'ha'>, cluster: Cluster | undefined): boolean {
  if (cluster === undefined) return false
  const live = liveCounts(cluster)
  return wantedCounts(wanted).instances < live.instances || (live.sync > 0 && !live.quorum)
}
