// How far the standbys of a service are behind its primary, and what follows for the nodes of a replica set: one that is too
// far behind gets no new readers until it has caught up. Never all of them, because old answers are better than none. Pure.
import type { ReplicaLag } from '../../provider.ts'
import type { NodeUse } from '../haproxy/nodes.ts'

/** `bytes`: WAL that it has not replayed yet. `seconds`: how old the commit was that it replayed last, while there are any. */
export type Lag = { bytes: number; seconds: number }

/** Of one node; without a lag the primary knows nothing of it. */
export type NodeLag = { node: number; use: NodeUse; lag: Lag | undefined }

const mib = 1024 ** 2
const too_far: Lag = { bytes: 64 * mib, seconds: 30 }
/** Well below, so that a node at the bound does not come and go. */
const near_again: Lag = { bytes: 16 * mib, seconds: 10 }

/** As told outside: a name is `node_<number>` or `<replica_set_id>_<number>`. What has another name is no standby of ours. */
export function replicaLagsOf(lags: ReadonlyMap<string, Lag>): ReplicaLag[] {
  return [...lags].flatMap(([name, lag]) => {
    const [, owner, number] = /^(\w+)_(\d+)$/.exec(name) ?? []
    if (owner === undefined) return []
    return [{ ...(owner !== 'node' && { replica_set_id: owner }), node: Number(number), ...lag }]
  })
}

/** Which nodes are to get readers. What is switched off is somebody else's care and stays so. */
export function usesByLag(nodes: readonly NodeLag[]): Map<number, NodeUse> {
  const chosen = nodes.filter(({ use }) => use !== 'off')
  const near = chosen.filter(isNear)
  const kept = near.length > 0 ? near : leastBehind(chosen)
  return new Map(chosen.map((one) => [one.node, kept.includes(one) ? 'in' : 'out']))
}

function isNear({ use, lag }: NodeLag): boolean {
  const bound = use === 'out' ? near_again : too_far
  // Without anything to replay, the age of the last commit says nothing.
  return lag !== undefined && lag.bytes <= bound.bytes && (lag.bytes === 0 || lag.seconds <= bound.seconds)
}

/** The one that has least to replay; all of them when nothing is known of any. */
function leastBehind(nodes: readonly NodeLag[]): readonly NodeLag[] {
  const known = nodes.filter(({ lag }) => lag !== undefined)
  const [first] = known.toSorted((one, other) => (one.lag?.bytes ?? 0) - (other.lag?.bytes ?? 0))
  return first === undefined ? nodes : [first]
}
