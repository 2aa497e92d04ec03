// The nodes of a replica set: each a standby of the service's primary, made and mended one after the other, so that a set
// of several goes on serving. A node that does not serve, or is about to stop, is taken out of the balancer first, and
// comes back when it serves again.
import type { Endpoint, ObservedEvent, WantedReplicaSet } from '../../provider.ts'
import { nameOf } from './balance-watch.ts'
import { ensureUses, findUses } from '../haproxy/nodes.ts'
import { statIfThere } from '../host/look.ts'
import type { PostgresInstallation } from '../postgres/installation.ts'
import { nodeHostOf, nodeOf, type Place } from '../host/layout.ts'
import { answers } from '../host/liveness.ts'
import type { ReplicaSetHost } from './replica-set-host.ts'
import { inForce } from '../postgres/port-in-force.ts'
import { quotaBytesOf } from '../quota/rules.ts'
import { ensureNodesKilled, isBeingMade } from '../ha/nodes.ts'
import { listNodeFolders } from '../postgres/nodes.ts'
import { ensureKilled, findPostmaster } from '../postgres/process.ts'
import {
  ensureStandby,
  ensureStandbyGone,
  ensureStandbyRunning,
  type StandbySeen,
  type StandbyWish,
} from '../ha/standby.ts'

export type ReplicaSet = {
  wanted: WantedReplicaSet
  place: Place
  /** Of the node that is its service's primary now. */
  primary: Place
  listen: Endpoint
}

export type NodesSeen = {
  /** How many of them can be read from. */
  running: number
  waiting_for?: string
  look_again_seconds?: number
  failed: boolean
  events: readonly ObservedEvent[]
}

const answer_within_ms = 3_000
/** A copy of data that fills its quota has WAL of its own; what is beyond are temporary files of readers. */
const standby_share = 1.15

/** Where customers reach a node, through the balancer. */
export function nodeAddressOf({ wanted, listen }: ReplicaSet, node: number): Endpoint {
  if (wanted.nodes === 1) return listen
  return { host: nodeHostOf(wanted.endpoint.port, node), port: listen.port }
}

export async function ensureNodes(
  host: ReplicaSetHost,
  set: ReplicaSet,
  installation: PostgresInstallation,
): Promise<NodesSeen> {
  const seen: StandbySeen[] = []
  for (let node = 0; node < set.wanted.nodes; node++) {
    // One copy at a time is burden enough for the primary.
    const wait =
      seen.some(({ state }) => state === 'copying') && !(await statIfThere(nodeOf(set.place, node, 'standby').data))
    seen.push(wait ? { state: 'absent', events: [] } : await ensureNode(host, set, node, installation))
  }
  const late = seen.filter(({ state }) => state !== 'streaming')
  const running = seen.filter(({ pid }) => pid !== undefined).length
  const paces = late.flatMap(({ look_again_seconds }) => look_again_seconds ?? [])
  const waiting_for = late.find((one) => one.waiting_for !== undefined)?.waiting_for
  return {
    running,
    ...(waiting_for !== undefined && { waiting_for }),
    ...(paces.length > 0 && { look_again_seconds: Math.min(...paces) }),
    failed: seen.some(({ failed }) => failed),
    events: seen.flatMap(({ events }) => events),
  }
}

/** Ends every node at once; their files go with the home of the set. A sentence while somebody else is making one. */
export async function ensureNodesGone(host: ReplicaSetHost, place: Place): Promise<string | undefined> {
  for (const node of await listNodeFolders(place)) {
    if (await isBeingMade(nodeOf(place, node, 'standby'))) return 'another server is copying its data'
  }
  await ensureNodesKilled(host, place, 'set')
  return undefined
}

/** After the balancer has forgotten them. */
export async function ensureSurplusGone(host: ReplicaSetHost, place: Place, wanted_nodes: number): Promise<void> {
  for (const node of (await listNodeFolders(place)).filter((one) => one >= wanted_nodes)) {
    for (const watch of [host.watch, host.room_watch, host.quota_watch]) watch.forget(watchedAs(place, node))
    await ensureStandbyGone(host, nodeOf(place, node, 'standby'))
  }
}

async function ensureNode(
  host: ReplicaSetHost,
  set: ReplicaSet,
  node: number,
  installation: PostgresInstallation,
): Promise<StandbySeen> {
  const place = nodeOf(set.place, node, 'standby')
  const use = (how: 'in' | 'off') => ensureUses(host.effect, place.service_sockets, new Map([[node, how]]))
  const wish: StandbyWish = {
    place,
    primary: set.primary,
    name: nameOf(set.place, node),
    size: set.wanted.size,
    extensions: set.wanted.service.extensions,
    listen: nodeAddressOf(set, node),
    network: set.wanted.network,
    installation,
    mayLeave: async () => {
      const may = await canSpare(set, node)
      if (may) await use('off')
      return may
    },
  }
  const lost = await lossOf(place)
  if (lost !== undefined) await use('off')
  if (lost === 'hangs') await ensureKilled(host.effect, place)
  const { pid: _, ...seen } = await ensureStandby(host, wish)
  // While its primary is away it is not judged; but it can be read from.
  if (seen.state === 'not_streaming' && (await statIfThere(place.data))) await ensureStandbyRunning(host, wish)
  const pid = await findReady(place)
  if (pid === undefined) return seen
  // Of several the balancer knows how they are.
  host.watch.track(watchedAs(place, node), pid, set.wanted.nodes === 1 ? { listening: place } : {})
  host.room_watch.track(place, pid)
  const quota_bytes = quotaBytesOf(set.wanted.service.size, host.disk_quota)
  if (quota_bytes !== undefined) host.quota_watch.track(place, { pid, quota_bytes: quota_bytes * standby_share })
  if ((await findUses(place.service_sockets))?.get(node)?.use === 'off') await use('in')
  return { ...seen, pid, events: [...seen.events, ...storyOf(node, lost)] }
}

type Loss = 'absent' | 'ended' | 'hangs'

/** Why nobody can read from the node as it is found; undefined when one can. */
async function lossOf(place: Place): Promise<Loss | undefined> {
  const { postmaster, died } = await findPostmaster(place)
  if (!postmaster?.ready) return died ? 'ended' : 'absent'
  // One that is about to move into a VPC, or out of one, still listens where it was.
  const at = await inForce(place)
  // Twice, because the machine may be very busy.
  if (await answers(at, answer_within_ms)) return undefined
  return (await answers(at, answer_within_ms)) ? undefined : 'hangs'
}

function storyOf(node: number, lost: Loss | undefined): ObservedEvent[] {
  const why = { absent: undefined, ended: 'had ended by itself', hangs: 'did not answer any more' }[lost ?? 'absent']
  return why === undefined ? [] : [{ kind: 'restarted', message: `node ${node} ${why} and was started again` }]
}

/** Whether readers have somewhere else to go. A set of one has no choice. */
async function canSpare({ wanted, place }: ReplicaSet, node: number): Promise<boolean> {
  if (wanted.nodes === 1) return true
  for (let other = 0; other < wanted.nodes; other++) {
    if (other !== node && (await findReady(nodeOf(place, other, 'standby'))) !== undefined) return true
  }
  return false
}

async function findReady(place: Place): Promise<number | undefined> {
  const { postmaster } = await findPostmaster(place)
  return postmaster?.ready ? postmaster.pid : undefined
}

const watchedAs = ({ service_id }: Place, node: number) => `${service_id}/${node}`
