// The replicas of a service that can take over: as many as are wanted are made and kept streaming, and commits wait for as
// many of them as wanted. Surplus replicas are removed, but only when no commit may depend on them any more.
import type { ObservedEvent, WantedService } from '../../provider.ts'
import { floorOf } from '../postgres/control-file.ts'
import { isDiskFull, statIfThere } from '../../host/read.ts'
import type { PostgresInstallation } from '../postgres/installation.ts'
import { nodeAt, noSpaceSentence, type Node } from '../host/layout.ts'
import type { HaHost } from './ha-host.ts'
import { isBeingMade } from './nodes.ts'
import { nodesOf } from '../postgres/nodes.ts'
import { listNodeFolders } from '../postgres/nodes.ts'
import type { SyncList } from './quorum.ts'
import type { Postmaster } from '../postgres/process.ts'
import { preloadsOf } from '../../postgres/preloads.ts'
import { rises } from '../postgres/settings.ts'
import { ensureStandby, ensureStandbyRemoved } from './standby.ts'
import type { ObservedStandby } from './standby-judge.ts'
import { ensureStandbyRunning } from './standby-server.ts'
import { standbySpecOf, type StandbySpec } from './standby-spec.ts'
import { ensureSynchronous, nodeName } from './synchronous.ts'

export type ObservedStandbys = {
  settled: boolean
  waiting_for?: string
  in_progress?: boolean | undefined
  look_again_seconds?: number
  events: readonly ObservedEvent[]
}

const look_again_soon_seconds = 1
const look_again_after_setback_seconds = 3
const look_again_when_well_seconds = 60
/** Commits wait without a replica. But each pass adds a line or two to the tenant's log. */
const look_again_when_waited_for_seconds = 30

/** The primary, which serves, and its server as it runs. */
export type Leader = { node: Node; postmaster: Postmaster; installation: PostgresInstallation }

/** A failure of the replicas never keeps the primary from serving. */
export async function ensureStandbys(host: HaHost, leader: Leader, wanted: WantedService): Promise<ObservedStandbys> {
  try {
    return await ensureAll(host, leader, wanted)
  } catch (error) {
    const reason = isDiskFull(error) ? noSpaceSentence(host.directory) : error instanceof Error && error.message
    const waiting_for = `its replicas could not be checked: ${reason || 'no reason given'}`
    return { settled: false, waiting_for, look_again_seconds: look_again_after_setback_seconds, events: [] }
  }
}

async function ensureAll(host: HaHost, leader: Leader, wanted: WantedService): Promise<ObservedStandbys> {
  const { node } = leader
  const numbers = await wantedNodes(node, wanted)
  const standbys = numbers.filter((number) => number !== node.number)
  const observed = await ensureEach(host, leader, wanted, standbys)
  const streaming = standbys.filter((_, at) => observed[at]?.state === 'streaming')
  const sync_count = wanted.ha?.sync_replica_count ?? 0
  const spec = { primary: node.number, nodes: numbers, sync_count, streaming }
  const lists = await ensureSynchronous(host, node, leader.postmaster, spec)
  const left = await removeSurplus(host, node, numbers, lists)
  const events = observed.flatMap((one) => one.events)
  const unsettled = observed.find((one) => one.state !== 'streaming')
  if (unsettled) {
    const paces = observed.map((one) => one.look_again_seconds ?? Infinity)
    const waiting_for = unsettled.waiting_for ?? 'a replica is missing yet'
    const { in_progress } = unsettled
    return { settled: false, waiting_for, in_progress, look_again_seconds: Math.min(...paces), events }
  }
  const in_force = lists.length === 1 && lists[0]?.sync_count === sync_count
  if (in_force && left === 0) return { settled: true, events, ...paceOf(standbys.length, sync_count) }
  const waiting_for = in_force
    ? 'a replica that is no longer wanted is still being copied by another server'
    : 'its replicas do not have everything yet for which commits are to wait'
  return { settled: false, waiting_for, in_progress: true, look_again_seconds: look_again_soon_seconds, events }
}

/** A death is noticed at once; that a replica lost its primary for another reason only by a pass. */
function paceOf(replica_count: number, sync_count: number): { look_again_seconds?: number } {
  if (replica_count === 0) return {}
  return { look_again_seconds: sync_count > 0 ? look_again_when_waited_for_seconds : look_again_when_well_seconds }
}

/** Before the primary's settings rise: a standby with lower ones could not follow it. One after the other, so that some stay up. */
export async function ensureStandbysRaised(
  host: HaHost,
  node: Node,
  wanted: WantedService,
  installation: PostgresInstallation,
): Promise<void> {
  const preloads = preloadsOf(installation.extensions, wanted.extensions)
  if (!rises(wanted.size, await floorOf(node.data), preloads)) return
  for (const number of await wantedNodes(node, wanted)) {
    const standby = nodeAt(node, number, 'standby')
    if (number === node.number || !(await statIfThere(standby.data))) continue
    // A replica that does not come up now does so in a later pass: going on loses nothing.
    await ensureStandbyRunning(host, standbySpecOf(node, number, wanted, installation))
  }
}

async function wantedNodes(primary: Node, { ha }: WantedService): Promise<number[]> {
  const numbers = await listNodeFolders(primary)
  const there = await Promise.all(numbers.map((number) => statIfThere(nodeAt(primary, number, 'standby').data)))
  const with_data = numbers.filter((_, at) => there[at])
  return nodesOf(primary.number, ha?.replica_count ?? 0, with_data)
}

/** Copies go on at the same time; servers are started again one after the other, so that commits need not wait. */
async function ensureEach(host: HaHost, leader: Leader, wanted: WantedService, standbys: readonly number[]) {
  const { node, installation } = leader
  const specs = standbys.map((number) => standbySpecOf(node, number, wanted, installation))
  const there = await Promise.all(specs.map((spec) => statIfThere(spec.node.data)))
  const observed = new Map<number, ObservedStandby>()
  for (const [at, spec] of specs.entries()) if (there[at]) observed.set(at, await ensureWatched(host, spec))
  const missing = specs.map(async (spec, at) => {
    if (!there[at]) observed.set(at, await ensureWatched(host, spec))
  })
  const ends = await Promise.allSettled(missing)
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  return standbys.map((_, at): ObservedStandby => observed.get(at) ?? { state: 'absent', events: [] })
}

async function ensureWatched(host: HaHost, spec: StandbySpec): Promise<ObservedStandby> {
  const { service_id, data } = spec.node
  const observed = await ensureStandby(host, spec)
  const key = `${service_id}/${spec.name}`
  if (observed.pid === undefined) host.watch.forget(key)
  else host.watch.track(key, observed.pid, { urgent: true, listening: spec.node, data })
  return observed
}

/** A listed replica may have the only second copy of a commit. Returns how many are left. */
async function removeSurplus(host: HaHost, primary: Node, numbers: readonly number[], lists: readonly SyncList[]) {
  let left = 0
  for (const number of await listNodeFolders(primary)) {
    if (numbers.includes(number)) continue
    const node = nodeAt(primary, number, 'standby')
    const key = `${primary.service_id}/${nodeName(number)}`
    await host.jobs.end(key)
    if (lists.some(({ members }) => members.includes(number)) || (await isBeingMade(node))) {
      left += 1
      continue
    }
    host.watch.forget(key)
    await ensureStandbyRemoved(host, node, { primary, name: nodeName(number) })
  }
  return left
}
