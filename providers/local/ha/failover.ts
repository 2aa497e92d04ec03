// What follows when the primary of a service with replicas is lost: it is fenced, the replica that certainly has every
// acknowledged commit is elected, and the file that names the primary is replaced. The pass then goes on with the new primary's
// node, and the lost node becomes a replica again.
// 1. No replica is elected before the lost primary is observed fenced, so there are never two primaries.
// 2. No replica is elected that may lack an acknowledged commit. Where that cannot be known, the lost primary is started again.
// 3. It may be killed anywhere: before the file is replaced the next pass begins anew, afterwards it finds the new primary.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { ObservedEvent, WantedService } from '../../provider.ts'
import { ensureNodeHome } from '../postgres/data-directory.ts'
import { ensureRemoved, type Effect } from '../host/effect.ts'
import { isDiskFull, readIfThere } from '../../host/read.ts'
import { ensureFenced } from './fence.ts'
import { findLock } from '../host/lock.ts'
import { isStopped } from '../../host/daemon.ts'
import { groupOf, nodeAt, type Node } from '../host/layout.ts'
import { ensureGroupKilled } from '../host/leftovers.ts'
import { findEntry } from '../host/tenant-files.ts'
import { answers } from '../host/liveness.ts'
import { ensureSince, findAge } from '../host/since.ts'
import type { HaHost } from './ha-host.ts'
import { ensurePaused } from '../pooler/pooler.ts'
import { inForce } from '../postgres/port-in-force.ts'
import { findPosition } from './position.ts'
import { findPrimary, leaderOf, savePrimary, type Primary } from '../postgres/primary.ts'
import { ensureRelayStopped, ensureRelayRemoved } from './relay.ts'
import { canPromoteInPlace, installationAt } from './in-place.ts'
import { standbySpecOf } from './standby-spec.ts'
import { ensureReplicaStopped, listensAsPrimary, rejoinJobOf, saveTimeline } from './promotion.ts'
import { electionOf, lsnText, type Election, type Position, type ObservedNode, type SyncList } from './quorum.ts'
import { findPostmaster } from '../postgres/process.ts'
import { ensureStandbyRunning } from './standby.ts'
import { isStandby } from './standby-data.ts'
import { ensurePrimaryStopped, isSwitchoverWanted, type Switch } from './switchover.ts'
import { parseLists } from './synchronous.ts'
import { ensureTail, ensureTailOffered, ensureTailTaken, findMissing, hasWalAfter } from './wal-tail.ts'

/** node: the primary's. waiting_for: it can neither serve nor be replaced. not_replaced: why not, where it may not start either. */
export type ObservedPrimary = { node: Node; events: ObservedEvent[]; waiting_for?: string; not_replaced?: string }

/** More than the watch waits before it reports a silent server: the machine may be very busy. */
const answer_within_ms = 4_000
/** A stopped process (SIGSTOP) cannot answer, however idle the machine is; but it may be continued a moment later. */
const answer_when_stopped_ms = 1_000
const ask_again_ms = 20
/** A few attempts at starting it. */
const down_patience_ms = 15_000

/** The first step of a pass over a service that should serve: the rest of the pass works on the node that it returns. */
export async function ensurePrimary(host: HaHost, base: Node, wanted: WantedService): Promise<ObservedPrimary> {
  await host.jobs.end(rejoinJobOf(base))
  const primary = await findPrimary(base)
  const node = leaderOf(base, primary)
  const standbys = (await listWithData(base)).filter((number) => number !== primary.node)
  if (standbys.length === 0) return { node, events: [] }
  const trouble = await troubleOf(host, node)
  const change = { host, base, wanted, primary, standbys }
  if (trouble !== undefined) return await replace(change, trouble)
  await ensureReplicaStopped(host.effect, node)
  if (!isSwitchoverWanted(wanted, primary)) return { node, events: [] }
  const { next, ...observed } = await ensurePrimaryStopped(change)
  return { ...observed, node: next ? await handOver(change, next, 'at the endpoint') : node }
}

/** The nodes of a service that have data, by number. */
async function listWithData(base: Node): Promise<number[]> {
  const names = await readdir(base.home).catch(() => [])
  const later = names.flatMap((name) => /^node-(\d+)$/.exec(name)?.[1] ?? []).map(Number)
  const numbers = [0, ...later.toSorted((a, b) => a - b)]
  const there = await Promise.all(numbers.map((number) => hasData(nodeAt(base, number, 'standby'))))
  return numbers.filter((_, at) => there[at])
}

/** An emptied folder is no data directory. */
async function hasData({ data }: Node): Promise<boolean> {
  return findEntry(data, 'global/pg_control') !== undefined
}

/** may_start: with the data that are there it may yet serve by itself. */
type Trouble = { what: string; data_is_there: boolean; may_start: boolean }

/** Why the primary is lost; undefined while it is well, is starting, or was stopped on purpose. */
async function troubleOf({ effect }: HaHost, node: Node): Promise<Trouble | undefined> {
  const name = `the primary (node ${node.number})`
  // A refused session is no silence: a server at its limit of sessions may accept the next.
  for (const began = performance.now(); ; await pause(ask_again_ms)) {
    if (!(await hasData(node))) return { what: `${name} has lost its data directory`, ...lost_data }
    const { postmaster, died } = await findPostmaster(node)
    if (died) return { what: `${name} has died`, ...startable }
    if (!postmaster) {
      return (await staysDown(node)) ? { what: `${name} does not start`, ...unstartable } : undefined
    }
    await ensureRemoved(effect, 'sign of being down', downOf(node))
    if (!postmaster.ready || !(await listensAsPrimary(node))) return undefined
    const patience_ms = isStopped(postmaster.pid) ? answer_when_stopped_ms : answer_within_ms
    const left_ms = began + patience_ms - performance.now()
    if (left_ms <= 0) return { what: `${name} does not answer`, ...startable }
    // A primary that is about to move into a VPC, or out of one, still listens where it was.
    if (await answers(await inForce(node), left_ms)) return undefined
  }
}

const startable = { data_is_there: true, may_start: true }
const unstartable = { data_is_there: true, may_start: false }
const lost_data = { data_is_there: false, may_start: false }

/** Since when no pass could start the primary. */
export const downOf = ({ home }: Node) => join(home, 'primary-down')

/** What keeps a pass from trying, such as a copy of data that stands still, says nothing about the primary. */
export async function noteStartFailed(effect: Effect, node: Node): Promise<void> {
  await ensureSince(effect, 'sign of being down', downOf(node), String(node.number))
}

async function staysDown(node: Node): Promise<boolean> {
  return ((await findAge(downOf(node), String(node.number))) ?? 0) > down_patience_ms
}

async function replace(change: Switch, trouble: Trouble): Promise<ObservedPrimary> {
  const { host, base, primary } = change
  const node = leaderOf(base, primary)
  const events: ObservedEvent[] = [{ kind: 'primary lost', message: trouble.what }]
  await ensurePaused(host, node)
  await ensureFenced(host.effect, node)
  await ensureGroupKilled(host, groupOf(node))
  events.push({ kind: 'fenced', message: `no process of node ${primary.node} runs any more` })
  const election = await withinReach(change, await elect(change, trouble))
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
  const is_there = await hasData(lost)
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

const readLists = async ({ synchronous }: Node) => parseLists((await readIfThere(synchronous)) ?? '')

/** Whichever of the lists is in force, a replica that is elected by them has every commit that was acknowledged. */
const haveWaited = (lists: readonly SyncList[]) => lists.length > 0 && lists.every(({ sync_count }) => sync_count > 0)

/** All nodes with data but this one. */
async function listOthers(base: Node, number: number): Promise<Node[]> {
  return (await listWithData(base)).filter((one) => one !== number).map((one) => nodeAt(base, one, 'standby'))
}

/** Whether fewer of the others run than commits wait for. */
async function isWaitedFor(base: Node, next: Node, lost: Node): Promise<boolean> {
  const { members = [], sync_count = 0 } = (await readLists(base)).at(-1) ?? {}
  const others = members.filter((number) => number !== next.number && number !== lost.number)
  const running = await Promise.all(others.map((number) => isRunning(nodeAt(base, number, 'standby'))))
  return running.filter(Boolean).length < sync_count
}

async function elect({ host, base, wanted, primary, standbys }: Switch, trouble: Trouble): Promise<Election> {
  const nodes = standbys.map((number) => nodeAt(base, number, 'standby'))
  const running = await Promise.all(nodes.map(isRunning))
  const lists = await readLists(base)
  if (!running.includes(true)) {
    // All were stopped at once, as by a reboot: the primary itself serves again soonest.
    if (trouble.may_start) return { wait: 'none of its replicas runs' }
    if (trouble.data_is_there && !haveWaited(lists)) {
      return { wait: 'none of its replicas runs, and they may lack commits, which did not wait for them' }
    }
  }
  const observed = await Promise.all(nodes.filter((_, at) => running[at]).map(observe))
  const election = electionOf({ primary: primary.node, lists, observed })
  if ('elect' in election) return election
  const lost = leaderOf(base, primary)
  const started = nodes.filter((_, at) => !running[at]).map((node) => startAndObserve(host, node, lost, wanted))
  return electionOf({ primary: primary.node, lists, observed: [...observed, ...(await Promise.all(started))] })
}

/**
 * A replica for which commits did not wait may have to read the archive first: together with that the lost primary has all of them, and
 * what it has not archived joins nothing that the replica has.
 */
async function withinReach({ base, primary }: Switch, election: Election): Promise<Election> {
  if ('wait' in election || haveWaited(await readLists(base))) return election
  const lost = nodeAt(base, primary.node, 'standby')
  if (await hasWalAfter(lost, election.position)) return election
  const missing = await findMissing(lost, election.position)
  if (missing === undefined) return { wait: `node ${election.elect} has not read the archive to its end yet` }
  const way_out = `restore the service, or move ${lost.data} away, and node ${election.elect} takes over without them`
  return { wait: `node ${election.elect} lacks commits: the archive has no WAL file ${missing}; ${way_out}` }
}

/** As a replica: a former primary that was not yet made a replica has no position to report. */
async function isRunning(node: Node): Promise<boolean> {
  return (await isStandby(node)) && (await findPostmaster(node)).postmaster !== undefined
}

async function observe(node: Node): Promise<ObservedNode> {
  return { node: node.number, position: await findPosition(await inForce(node)) }
}

async function startAndObserve(host: HaHost, node: Node, primary: Node, wanted: WantedService): Promise<ObservedNode> {
  await startAsReplica(host, node, primary, wanted)
  return await observe(node)
}

async function startAsReplica(host: HaHost, node: Node, primary: Node, wanted: WantedService): Promise<void> {
  const installation = await installationAt(host, node, wanted)
  if (installation === undefined || (await findLock(node)) === 'copying while it stands still') return
  await ensureNodeHome(host.effect, node)
  await ensureStandbyRunning(host, standbySpecOf(primary, node.number, wanted, installation))
}
