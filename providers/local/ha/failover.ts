// What follows when the primary of a service with replicas is lost: it is fenced, the replica that certainly has every
// acknowledged commit is elected, and the file that names the primary is replaced. The pass then goes on with the new primary's
// node, and the lost node becomes a replica again.
// 1. No replica is elected before the lost primary is observed fenced, so there are never two primaries.
// 2. No replica is elected that may lack an acknowledged commit. Where that cannot be known, the lost primary is started again.
// 3. It may be killed anywhere: before the file is replaced the next pass begins anew, afterwards it finds the new primary.
import type { ObservedEvent, WantedService } from '../../provider.ts'
import { isDiskFull } from '../../host/read.ts'
import { ensureGroupKilled } from '../host/leftovers.ts'
import { groupOf, nodeAt, type Node } from '../host/layout.ts'
import { ensurePaused } from '../pooler/pooler.ts'
import { lsnText } from '../../postgres/lsn.ts'
import { hasData, listNodesWithData } from '../postgres/nodes.ts'
import { findPrimary, leaderOf, savePrimary, type Primary } from '../postgres/primary.ts'
import { elect, isRunning, startAsReplica } from './election.ts'
import { ensureFenced } from './fence.ts'
import type { HaHost } from './ha-host.ts'
import { canPromoteInPlace } from './in-place.ts'
import { ensureReplicaStopped, rejoinJobOf, saveTimeline } from './promotion.ts'
import { haveWaited, type Position } from './quorum.ts'
import { ensureRelayStopped, ensureRelayRemoved } from './relay.ts'
import { ensurePrimaryStopped, isSwitchoverWanted, type Switch } from './switchover.ts'
import { readLists } from './synchronous.ts'
import { troubleOf, type Trouble } from './trouble.ts'
import { ensureTail, ensureTailOffered, ensureTailTaken } from './wal-tail.ts'

/** node: the primary's. waiting_for: it can neither serve nor be replaced. not_replaced: why not, where it may not start either. */
export type ObservedPrimary = { node: Node; events: ObservedEvent[]; waiting_for?: string; not_replaced?: string }

/** The first step of a pass over a service that should serve: the rest of the pass works on the node that it returns. */
export async function ensurePrimary(host: HaHost, base: Node, wanted: WantedService): Promise<ObservedPrimary> {
  const primary = await findPrimary(base)
  const node = leaderOf(base, primary)
  const standbys = (await listNodesWithData(base)).filter((number) => number !== primary.node)
  if (standbys.length === 0) return { node, events: [] }
  const trouble = await troubleOf(host.effect, node)
  const change = { host, base, wanted, primary, standbys }
  if (trouble !== undefined) return await replace(change, trouble)
  await ensureReplicaStopped(host.effect, node)
  if (!isSwitchoverWanted(wanted, primary)) return { node, events: [] }
  const { next, ...observed } = await ensurePrimaryStopped(change)
  return { ...observed, node: next ? await handOver(change, next, 'at the endpoint') : node }
}

async function replace(change: Switch, trouble: Trouble): Promise<ObservedPrimary> {
  const { host, base, primary } = change
  const node = leaderOf(base, primary)
  const events: ObservedEvent[] = [{ kind: 'primary lost', message: trouble.what }]
  await ensurePaused(host, node)
  await ensureFenced(host.effect, node)
  await ensureGroupKilled(host, groupOf(node))
  events.push({ kind: 'fenced', message: `no process of node ${primary.node} runs any more` })
  const election = await elect(change, trouble)
  if ('wait' in election) {
    const { wait } = election
    const waiting_for = trouble.data_is_there ? undefined : `${trouble.what}, and ${wait}`
    const again = `node ${primary.node} is started again, because ${wait}`
    if (!waiting_for) events.push({ kind: 'not replaced', message: again })
    const not_replaced = !trouble.may_start && wait
    return {
      node,
      events: untoldOf(host, node, events),
      ...(waiting_for && { waiting_for }),
      ...(not_replaced && { not_replaced }),
    }
  }
  const { elect: number, position } = election
  const at = `${lsnText(position.lsn)} on timeline ${position.timeline}`
  events.push({ kind: 'elected', message: `node ${number} becomes the primary; it has everything up to ${at}` })
  return {
    node: await handOver(change, { node: number, position }, 'as it runs'),
    events: untoldOf(host, node, events),
  }
}

/** A loss that lasts is reported once, not by every pass. */
function untoldOf({ deaths_told }: HaHost, { service_id }: Node, events: ObservedEvent[]): ObservedEvent[] {
  const text = events.map(({ message }) => message).join('; ')
  if (deaths_told.get(service_id) === text) return []
  deaths_told.set(service_id, text)
  return events
}

type Next = { node: number; position: Position }

/** Makes this node the primary, as it runs where that can be. No process of the primary before may run. */
async function handOver(change: Switch, next: Next, way: 'as it runs' | 'at the endpoint'): Promise<Node> {
  const { host, base, wanted, primary } = change
  const { effect } = host
  const lost = nodeAt(base, primary.node, 'standby')
  // A copy of the lost primary that is being made, for a snapshot say, is begun anew from the new primary.
  await host.jobs.end(base.service_id)
  if (primary.relayed) await ensureRelayStopped(host, base)
  const is_there = hasData(lost)
  const relayed = way === 'as it runs' && (await prepareInPlace(change, next, is_there))
  if (!relayed) await prepareAtEndpoint(change, next, is_there)
  // A switchover that was wanted is done by this failover.
  const switchovers = Math.max(primary.switchovers, wanted.ha?.switchovers ?? 0)
  const named: Primary = { node: next.node, term: primary.term + 1, switchovers, ...(relayed && { relayed }) }
  await savePrimary(effect, base, primary, named)
  const node = leaderOf(base, named)
  // Where commits wait for the lost node, it starts at once as a replica; elsewhere that would only slow the new primary down.
  if (is_there && (await isWaitedFor(base, node, lost)))
    host.jobs.begin(`${rejoinJobOf(base)}/${lost.number}`, () => startAsReplica(host, lost, node, wanted))
  return node
}

/** False: it has to be started anew at the endpoint. */
async function prepareInPlace(
  { host, base, primary, wanted }: Switch,
  { node: number, position }: Next,
  lost_is_there: boolean,
) {
  const node = nodeAt(base, number, 'relayed')
  const lost = nodeAt(base, primary.node, 'standby')
  if (!(await canPromoteInPlace(host, node, await listOthers(base, number), position, wanted))) return false
  return !lost_is_there || (await withoutIfFull(base, true, () => ensureTailOffered(host.effect, lost, node, position)))
}

async function prepareAtEndpoint(
  { host, base, primary }: Switch,
  { node: number, position }: Next,
  lost_is_there: boolean,
) {
  const node = nodeAt(base, number, 'primary')
  const lost = nodeAt(base, primary.node, 'standby')
  await ensureRelayRemoved(host, base)
  // From here on it does nothing until it is started as the primary.
  await ensureReplicaStopped(host.effect, node)
  await ensureFenced(host.effect, node)
  await ensureTailTaken(host.effect, node, 'lost')
  const takeTail = () => ensureTail(host.effect, lost, node, position)
  const timeline = lost_is_there ? await withoutIfFull(base, position.timeline, takeTail) : position.timeline
  await saveTimeline(host.effect, node, await listOthers(base, number), timeline)
}

/**
 * A full disk may have no space for what the lost primary had not sent. Where commits waited for replicas none of that was
 * acknowledged, and the replica takes over without it; elsewhere the service waits for space.
 */
async function withoutIfFull<T>(base: Node, without: T, take: () => Promise<T>): Promise<T> {
  try {
    return await take()
  } catch (error) {
    if (!isDiskFull(error) || !haveWaited(await readLists(base))) throw error
    return without
  }
}

async function listOthers(base: Node, number: number): Promise<Node[]> {
  return (await listNodesWithData(base)).filter((one) => one !== number).map((one) => nodeAt(base, one, 'standby'))
}

/** Whether fewer of the others run than commits wait for. */
async function isWaitedFor(base: Node, next: Node, lost: Node): Promise<boolean> {
  const { members = [], sync_count = 0 } = (await readLists(base)).at(-1) ?? {}
  const others = members.filter((number) => number !== next.number && number !== lost.number)
  const running = await Promise.all(others.map((number) => isRunning(nodeAt(base, number, 'standby'))))
  return running.filter(Boolean).length < sync_count
}
