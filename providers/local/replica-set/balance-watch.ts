// Between two passes over a replica set, drains nodes that are too far behind, and gives them new readers again when they have caught up. A
// single node has no balancer: it only has to follow its primary. Each time the primary and the balancer are asked anew, so that several
// servers may do this at once; without any server everything stays as it is.
import { ensureUses, findUses } from '../haproxy/nodes.ts'
import type { Effect } from '../host/effect.ts'
import { newPolling } from '../host/polling.ts'
import type { LagReader } from '../metric/lag-reader.ts'
import { type StandbyLag, usesByLag } from '../metric/lag.ts'
import { findLeader } from '../postgres/primary.ts'
import type { Node } from '../host/layout.ts'

/** `service`: one of its nodes, from which its primary is found. `is_single`: the set has one node. */
type Balanced = { set: Node; service: Node; is_single: boolean }

export type BalanceWatch = {
  track(balanced: Balanced): void
  forget(replica_set_id: string): void
  /** Called for a set that lacks a node or its balancer, though no death was noticed: a pass should find out why. */
  onMissing(callback: (replica_set_id: string) => void): void
  close(): void
}

/** A node whose replay stops is a few seconds behind by then; one query to the primary a poll is cheap. */
const poll_every_ms = 5_000

export function newBalanceWatch(effect: Effect, lag_reader: LagReader): BalanceWatch {
  const tracked = new Map<string, Balanced>()
  const callbacks: ((replica_set_id: string) => void)[] = []
  const polling = newPolling(poll_every_ms, async () => {
    for (const [id, balanced] of tracked) {
      // A primary that cannot be asked now is asked again by the next poll.
      const complete = await ensureBalanced(effect, lag_reader, balanced).catch(() => true)
      if (!complete && tracked.has(id)) for (const callback of callbacks) callback(id)
    }
  })

  return {
    track(balanced) {
      tracked.set(balanced.set.service_id, balanced)
      polling.set(true)
    },
    forget(replica_set_id) {
      tracked.delete(replica_set_id)
      polling.set(tracked.size > 0)
    },
    onMissing(callback) {
      callbacks.push(callback)
    },
    close() {
      tracked.clear()
      polling.set(false)
    },
  }
}

/**
 * False when one of the nodes does not follow the primary, or one of them or the balancer does not answer. While the primary
 * cannot be asked no node falls further behind: this throws.
 */
async function ensureBalanced(
  effect: Effect,
  lag_reader: LagReader,
  { set, service, is_single }: Balanced,
): Promise<boolean> {
  if (is_single) return (await followersOf(lag_reader, service)).has(nameOf(set, 0))
  const uses = await findUses(set.service_sockets)
  if (uses === undefined) return false
  const lags = await followersOf(lag_reader, service)
  const nodes = [...uses].map(([number, observed]) => ({
    ...observed,
    node: number,
    lag: lags.get(nameOf(set, number)),
  }))
  // Only those: another one may be switched off at this moment, to be started anew.
  const changes = [...usesByLag(nodes)].filter(([number, use]) => uses.get(number)?.use !== use)
  if (changes.length > 0) await ensureUses(effect, set.service_sockets, new Map(changes))
  return nodes.every(({ use, well, lag }) => use === 'off' || (well && lag !== undefined))
}

/** A node that knows more than its primary connects again and again, and is refused each time: it is in no other state than the first. */
async function followersOf(lag_reader: LagReader, service: Node): Promise<ReadonlyMap<string, StandbyLag>> {
  const lags = await lag_reader.read(await findLeader(service))
  return new Map([...lags].filter(([, { state }]) => state !== 'startup'))
}

/** By which the primary knows a node of a replica set. */
export const nameOf = ({ service_id }: Node, number: number): string => `${service_id}_${number}`
