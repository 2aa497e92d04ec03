// What happens when the primary of a service with replicas is lost: it is fenced, the replica that certainly has every
// acknowledged commit is elected, and the one file that says who is primary is replaced. From there on the ordinary story of
// a service goes on with another node, and the lost one becomes a replica again.
// 1. Nobody is elected before the lost primary was seen gone, so there are never two.
// 2. Nobody is elected who may lack an acknowledged commit. If that cannot be known, the lost one is started again instead.
// 3. It may be cut off anywhere: until the file is replaced everything begins anew, after that the new primary is found.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { ObservedEvent, WantedService } from '../../provider.ts'
import { ensureNodeHome } from '../postgres/data-directory.ts'
import { ensureFile, ensureRemoved, type Effect } from '../host/effect.ts'
import { readIfThere, statIfThere } from '../host/look.ts'
import { ensureFenced } from './fence.ts'
import { findHold } from '../host/hold.ts'
import { isStopped } from '../host/daemon.ts'
import { groupOf, nodeOf, type Place } from '../host/layout.ts'
import { ensureGroupKilled } from '../host/leftovers.ts'
import { findEntry } from '../host/tenant-files.ts'
import { answers } from '../host/liveness.ts'
import type { HaHost } from './ha-host.ts'
import { ensurePaused } from '../pooler/pooler.ts'
import { inForce } from '../postgres/port-in-force.ts'
import { findPosition } from './position.ts'
import { findPrimary, leaderOf, savePrimary, type Primary } from '../postgres/primary.ts'
import { ensureRelayEnded, ensureRelayGone } from './relay.ts'
import { canLeadInPlace, installationAt } from './in-place.ts'
import { standbyWishOf } from './standby-wish.ts'
import { ensureLeading, listensAsPrimary, rejoinJobOf, saveTimeline } from './promotion.ts'
import { electionOf, lsnText, type Election, type Position, type SeenNode } from './quorum.ts'
import { findPostmaster } from '../postgres/process.ts'
import { ensureStandbyRunning } from './standby.ts'
import { isStandby } from './standby-data.ts'
import { ensureStepsDown, isAskedFor, type Switch } from './switchover.ts'
import { parseLists } from './synchronous.ts'
import { ensureTail, ensureTailOffered, ensureTailTaken } from './wal-tail.ts'

/** place: of the node that is the primary now. waiting_for: it can neither serve nor be replaced. */
export type PrimarySeen = { place: Place; events: ObservedEvent[]; waiting_for?: string }

/** More than the watch waits before it tells that a server is silent: the machine may be very busy. */
const answer_within_ms = 4_000
/** One that was stopped cannot answer, however idle the machine is; but whoever did it may let it go on at once. */
const answer_when_stopped_ms = 1_000
const ask_again_ms = 20
/** A few attempts at starting it. */
const down_patience_ms = 15_000

/** Before anything else is done to a service that should serve: afterwards the primary's node is the one to go on with. */
export async function ensurePrimary(host: HaHost, base: Place, wanted: WantedService): Promise<PrimarySeen> {
  await host.jobs.end(rejoinJobOf(base))
  const primary = await findPrimary(base)
  const place = leaderOf(base, primary)
  const standbys = (await listNodes(base)).filter((node) => node !== primary.node)
  if (standbys.length === 0) return { place, events: [] }
  const trouble = await troubleOf(host, place)
  const change = { host, base, wanted, primary, standbys }
  if (trouble !== undefined) return await replace(change, trouble)
  await ensureLeading(host.effect, place)
  if (!isAskedFor(wanted, primary)) return { place, events: [] }
  const { next, ...seen } = await ensureStepsDown(change)
  return { ...seen, place: next ? await handOver(change, next, 'at the endpoint') : place }
}

/** The nodes of a service that have data, by number. */
export async function listNodes(base: Place): Promise<number[]> {
  const names = await readdir(base.home).catch(() => [])
  const numbers = names.flatMap((name) => /^node-(\d+)$/.exec(name)?.[1] ?? []).map(Number)
  const nodes = [0, ...numbers.toSorted((a, b) => a - b)]
  const there = await Promise.all(nodes.map((node) => hasData(nodeOf(base, node, 'standby'))))
  return nodes.filter((_, at) => there[at])
}

/** A folder alone, which somebody has emptied, is no data directory. */
async function hasData({ data }: Place): Promise<boolean> {
  return findEntry(data, 'global/pg_control') !== undefined
}

type Trouble = { what: string; data_is_there: boolean }

/** Why the primary is lost; undefined while it is well, starting, or was stopped by somebody who wanted that. */
async function troubleOf({ effect }: HaHost, place: Place): Promise<Trouble | undefined> {
  const name = `the primary (node ${place.node})`
  // Turned away is not silent: one that has too many callers at a time may answer the next.
  for (const began = performance.now(); ; await pause(ask_again_ms)) {
    if (!(await hasData(place))) return { what: `${name} has lost its data directory`, data_is_there: false }
    const { postmaster, died } = await findPostmaster(place)
    if (died) return { what: `${name} has ended by itself`, data_is_there: true }
    if (!postmaster) {
      return (await staysDown(effect, place)) ? { what: `${name} does not start`, data_is_there: true } : undefined
    }
    await ensureRemoved(effect, 'sign of being down', downOf(place))
    if (!postmaster.ready || !(await listensAsPrimary(place))) return undefined
    const patience_ms = isStopped(postmaster.pid) ? answer_when_stopped_ms : answer_within_ms
    const left_ms = began + patience_ms - performance.now()
    if (left_ms <= 0) return { what: `${name} does not answer`, data_is_there: true }
    // One that is about to move into a VPC, or out of one, still listens where it was.
    if (await answers(await inForce(place), left_ms)) return undefined
  }
}

/** Whether every look for a while has found it down, and none could start it; the age of a file says since when. */
async function staysDown(effect: Effect, place: Place): Promise<boolean> {
  await ensureFile(effect, 'sign of being down', downOf(place), String(place.node), undefined)
  const seen = await statIfThere(downOf(place))
  return seen !== undefined && Date.now() - seen.mtimeMs > down_patience_ms
}

const downOf = ({ home }: Place) => join(home, 'primary-down')

async function replace(change: Switch, trouble: Trouble): Promise<PrimarySeen> {
  const { host, base, primary } = change
  const place = leaderOf(base, primary)
  const events: ObservedEvent[] = [{ kind: 'primary lost', message: trouble.what }]
  await ensurePaused(host, place)
  await ensureFenced(host.effect, place)
  await ensureGroupKilled(host, groupOf(place))
  events.push({ kind: 'fenced', message: `no process of node ${primary.node} runs any more` })
  const election = await elect(change, trouble)
  if ('wait' in election) {
    const { wait } = election
    if (!trouble.data_is_there) return { place, events, waiting_for: `${trouble.what}, and ${wait}` }
    events.push({ kind: 'not replaced', message: `node ${primary.node} is started again, because ${wait}` })
    return { place, events }
  }
  const { elect: node, position } = election
  const at = `${lsnText(position.lsn)} on timeline ${position.timeline}`
  events.push({ kind: 'elected', message: `node ${node} becomes the primary; it has everything up to ${at}` })
  return { place: await handOver(change, { node, position }, 'as it runs'), events }
}

type Next = { node: number; position: Position }

/** Makes this node the primary, as it runs where that can be. Nothing of the one before may run. */
async function handOver(change: Switch, next: Next, way: 'as it runs' | 'at the endpoint'): Promise<Place> {
  const { host, base, wanted, primary } = change
  const { effect } = host
  const lost = nodeOf(base, primary.node, 'standby')
  // Whatever is being copied from the one before, a snapshot say, is begun anew from the next.
  await host.jobs.end(base.service_id)
  if (primary.relayed) await ensureRelayEnded(host, base)
  const is_there = await hasData(lost)
  const relayed = way === 'as it runs' && (await prepareInPlace(change, next, is_there))
  if (!relayed) await prepareAtEndpoint(change, next, is_there)
  // Whoever waits for a planned change has got one.
  const switchovers = Math.max(primary.switchovers, wanted.ha?.switchovers ?? 0)
  const named: Primary = { node: next.node, term: primary.term + 1, switchovers, ...(relayed && { relayed }) }
  await savePrimary(effect, base, primary, named)
  const place = leaderOf(base, named)
  // Where commits wait for it, it need not wait until the other one serves; elsewhere it would only take its time away.
  if (is_there && (await isWaitedFor(base, place, lost)))
    host.jobs.begin(`${rejoinJobOf(base)}/${lost.node}`, () => startAsReplica(host, lost, place, wanted))
  return place
}

/** False: it has to be started anew at the endpoint. */
async function prepareInPlace(
  { host, base, primary, wanted }: Switch,
  { node, position }: Next,
  lost_is_there: boolean,
) {
  const place = nodeOf(base, node, 'relayed')
  const lost = nodeOf(base, primary.node, 'standby')
  if (!(await canLeadInPlace(host, place, await listOthers(base, node), position, wanted))) return false
  return !lost_is_there || (await ensureTailOffered(host.effect, lost, place, position))
}

async function prepareAtEndpoint({ host, base, primary }: Switch, { node, position }: Next, lost_is_there: boolean) {
  const place = nodeOf(base, node, 'primary')
  const lost = nodeOf(base, primary.node, 'standby')
  await ensureRelayGone(host, base)
  // From here on it does nothing until it is started as the primary.
  await ensureLeading(host.effect, place)
  await ensureTailTaken(host.effect, place, 'lost')
  const timeline = lost_is_there ? await ensureTail(host.effect, lost, place, position) : position.timeline
  await saveTimeline(host.effect, place, await listOthers(base, node), timeline)
}

/** All nodes with data but this one. */
async function listOthers(base: Place, node: number): Promise<Place[]> {
  return (await listNodes(base)).filter((one) => one !== node).map((one) => nodeOf(base, one, 'standby'))
}

/** Whether fewer of the others run than commits wait for. */
async function isWaitedFor(base: Place, next: Place, lost: Place): Promise<boolean> {
  const { members = [], sync_count = 0 } = parseLists((await readIfThere(base.synchronous)) ?? '').at(-1) ?? {}
  const others = members.filter((node) => node !== next.node && node !== lost.node)
  const running = await Promise.all(others.map((node) => isRunning(nodeOf(base, node, 'standby'))))
  return running.filter(Boolean).length < sync_count
}

async function elect({ host, base, wanted, primary, standbys }: Switch, { data_is_there }: Trouble): Promise<Election> {
  const places = standbys.map((node) => nodeOf(base, node, 'standby'))
  const running = await Promise.all(places.map(isRunning))
  // Everything ended at once, as by a reboot: the primary itself is the quickest to be back.
  if (data_is_there && !running.includes(true)) return { wait: 'none of its replicas runs' }
  const lists = parseLists((await readIfThere(base.synchronous)) ?? '')
  const seen = await Promise.all(places.filter((_, at) => running[at]).map(lookAt))
  const election = electionOf({ primary: primary.node, lists, seen })
  if ('elect' in election) return election
  const lost = leaderOf(base, primary)
  const started = places.filter((_, at) => !running[at]).map((place) => startAndLookAt(host, place, lost, wanted))
  return electionOf({ primary: primary.node, lists, seen: [...seen, ...(await Promise.all(started))] })
}

/** As a replica: one that was a primary before and was not yet turned round says nothing about itself. */
async function isRunning(place: Place): Promise<boolean> {
  return (await isStandby(place)) && (await findPostmaster(place)).postmaster !== undefined
}

async function lookAt(place: Place): Promise<SeenNode> {
  return { node: place.node, position: await findPosition(await inForce(place)) }
}

async function startAndLookAt(host: HaHost, place: Place, primary: Place, wanted: WantedService): Promise<SeenNode> {
  await startAsReplica(host, place, primary, wanted)
  return await lookAt(place)
}

async function startAsReplica(host: HaHost, place: Place, primary: Place, wanted: WantedService): Promise<void> {
  const installation = await installationAt(host, place, wanted)
  if (installation === undefined || (await findHold(place)) === 'copying while it stands still') return
  await ensureNodeHome(host.effect, place)
  await ensureStandbyRunning(host, standbyWishOf(primary, place.node, wanted, installation))
}
