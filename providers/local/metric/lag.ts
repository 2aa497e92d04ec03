// How far the standbys of a service are behind its primary, and what follows for the nodes of a replica set: a node that is too
// far behind gets no new readers until it has caught up. Never all of them, because old answers are better than none. Pure.
import type { ReplicaLag } from '../../provider.ts'
import type { NodeUse } from '../haproxy/nodes.ts'

/** `bytes`: WAL that it has not replayed yet. `seconds`: age of the commit that it replayed last, while there is WAL to replay. */
export type Lag = { bytes: number; seconds: number }

/** And how PostgreSQL says that it is connected. */
export type StandbyLag = Lag & { state: string; is_sync: boolean }

/** Of one node; without a lag the primary does not know it. */
export type NodeLag = { node: number; use: NodeUse; lag: Lag | undefined }

const mib = 1024 ** 2
const too_far: Lag = { bytes: 64 * mib, seconds: 30 }
/** Well below, so that a node at the bound does not come and go. */
const near_again: Lag = { bytes: 16 * mib, seconds: 10 }

/** More standbys than a primary of ours has with all its replica sets. */
const standbys_max = 1_000

/**
 * What a primary reports, by the standbys' names. A program of the service's user may answer in its place, so that each value is checked: a
 * text for a number would stand in the scrape of all services.
 */
export function standbyLagsOf(rows: readonly Record<string, unknown>[]): Map<string, StandbyLag> {
  const lags = new Map<string, StandbyLag>()
  for (const { name, bytes, seconds, state, is_sync } of rows.slice(0, standbys_max)) {
    if (typeof name !== 'string' || typeof state !== 'string' || !/^\w{1,64}$/.test(name) || !/^\w{0,32}$/.test(state))
      continue
    if (isFiniteNumber(bytes) && isFiniteNumber(seconds))
      lags.set(name, { bytes, seconds, state, is_sync: is_sync === true })
  }
  return lags
}

const isFiniteNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

/** For the API: a name is `node_<number>` or `<replica_set_id>_<number>`. A standby with another name is not ours. */
export function replicaLagsOf(lags: ReadonlyMap<string, StandbyLag>): ReplicaLag[] {
  return [...lags].flatMap(([name, lag]) => {
    const [, owner, number] = /^(\w+)_(\d+)$/.exec(name) ?? []
    if (owner === undefined) return []
    return [{ ...(owner !== 'node' && { replica_set_id: owner }), node: Number(number), ...lag }]
  })
}

/** Which nodes get readers. A node that is switched off stays so: replica-set/nodes.ts decides about that. */
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

/** The nodes with the least to replay; all of them when no lag is known. */
function leastBehind(nodes: readonly NodeLag[]): readonly NodeLag[] {
  const known = nodes.filter(({ lag }) => lag !== undefined)
  const [first] = known.toSorted((one, other) => (one.lag?.bytes ?? 0) - (other.lag?.bytes ?? 0))
  return first === undefined ? nodes : [first]
}
