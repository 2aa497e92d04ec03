// The nodes of a replica set: each a standby of the service's primary, made and mended one after the other, so that a set
// of several goes on serving. A node that does not serve, or is about to stop, is taken out of the balancer first, and
// comes back when it serves again.
import type { Endpoint, ObservedEvent, WantedReplicaSet } from '../../provider.ts'
import { nameOf } from './balance-watch.ts'
import { ensureUses, findUses } from '../haproxy/nodes.ts'
import { statIfThere } from '../../host/read.ts'
import type { PostgresInstallation } from '../postgres/installation.ts'
import { nodeHostOf, nodeAt, type Node } from '../host/layout.ts'
import { answers } from '../host/liveness.ts'
import type { ReplicaSetHost } from './replica-set-host.ts'
import { inForce } from '../postgres/port-in-force.ts'
import { ensureNodesKilled, isBeingMade } from '../ha/nodes.ts'
import { listNodeFolders } from '../postgres/nodes.ts'
import { ensureKilled, findPostmaster } from '../postgres/process.ts'
import { ensureStandby, ensureStandbyRemoved } from '../ha/standby.ts'
import type { ObservedStandby } from '../ha/standby-judge.ts'
import { ensureStandbyRunning } from '../ha/standby-server.ts'
import type { StandbySpec } from '../ha/standby-spec.ts'

export type ReplicaSet = {
  wanted: WantedReplicaSet
  node: Node
  /** The node that is its service's primary now. */
  primary: Node
  listen: Endpoint
}

type ObservedNodes = {
  /** How many of them serve readers. */
  running: number
  waiting_for?: string
  in_progress?: boolean | undefined
  look_again_seconds?: number
  failed: boolean
  events: readonly ObservedEvent[]
}

const answer_within_ms = 3_000
/** A copy of data that fills its quota has WAL of its own; the rest is for temporary files of readers. */
const standby_share = 1.15

/** Where clients reach a node, through the balancer. */
export function nodeAddressOf({ wanted, listen }: ReplicaSet, number: number): Endpoint {
  if (wanted.nodes === 1) return listen
  return { host: nodeHostOf(wanted.home.port, number), port: listen.port }
}

export async function ensureNodes(
  host: ReplicaSetHost,
  set: ReplicaSet,
  installation: PostgresInstallation,
): Promise<ObservedNodes> {
  const observed: ObservedStandby[] = []
  for (let number = 0; number < set.wanted.nodes; number++) {
    // One copy at a time is load enough for the primary.
    const wait =
      observed.some(({ state }) => state === 'copying') &&
      !(await statIfThere(nodeAt(set.node, number, 'standby').data))
    observed.push(wait ? { state: 'absent', events: [] } : await ensureNode(host, set, number, installation))
  }
  const late = observed.filter(({ state }) => state !== 'streaming')
  const running = observed.filter(({ pid }) => pid !== undefined).length
  const paces = late.flatMap(({ look_again_seconds }) => look_again_seconds ?? [])
  const { waiting_for, in_progress } = late.find((one) => one.waiting_for !== undefined) ?? {}
  return {
    running,
    ...(waiting_for !== undefined && { waiting_for, in_progress }),
    ...(paces.length > 0 && { look_again_seconds: Math.min(...paces) }),
    failed: observed.some(({ failed }) => failed),
    events: observed.flatMap(({ events }) => events),
  }
}

/** Kills every node; their files are removed with the home of the set. A sentence while another server is making one. */
export async function ensureNodesRemoved(host: ReplicaSetHost, node: Node): Promise<string | undefined> {
  for (const number of await listNodeFolders(node)) {
    if (await isBeingMade(nodeAt(node, number, 'standby'))) return 'another server is copying its data'
  }
  await ensureNodesKilled(host, node, 'set')
  return undefined
}

/** After they are removed from the balancer. */
export async function ensureSurplusRemoved(host: ReplicaSetHost, node: Node, wanted_nodes: number): Promise<void> {
  for (const number of (await listNodeFolders(node)).filter((one) => one >= wanted_nodes)) {
    host.forget(watchedAs(node, number))
    await ensureStandbyRemoved(host, nodeAt(node, number, 'standby'))
  }
}

async function ensureNode(
  host: ReplicaSetHost,
  set: ReplicaSet,
  number: number,
  installation: PostgresInstallation,
): Promise<ObservedStandby> {
  const node = nodeAt(set.node, number, 'standby')
  const use = (how: 'in' | 'off') => ensureUses(host.effect, node.service_sockets, new Map([[number, how]]))
  const spec: StandbySpec = {
    node,
    primary: set.primary,
    name: nameOf(set.node, number),
    size: set.wanted.size,
    extensions: set.wanted.service.extensions,
    listen: nodeAddressOf(set, number),
    vpc_id: set.wanted.vpc_id,
    installation,
    mayLeave: async () => {
      const may = await canSpare(set, number)
      if (may) await use('off')
      return may
    },
  }
  const lost = await lossOf(node)
  if (lost !== undefined) await use('off')
  if (lost === 'hangs') await ensureKilled(host.effect, node)
  const { pid: _, ...observed } = await ensureStandby(host, spec)
  // While its primary does not serve it is not judged; but it can be read from.
  if (observed.state === 'not_streaming' && (await statIfThere(node.data))) await ensureStandbyRunning(host, spec)
  const pid = await findReady(node)
  if (pid === undefined) return observed
  // In a larger set the balancer checks their health.
  const { data } = node
  host.watch.track(watchedAs(node, number), pid, set.wanted.nodes === 1 ? { data, listening: node } : { data })
  host.disk_space_watch.track(node, pid)
  const quota_bytes = host.quotaBytesOf(set.wanted.service.size)
  if (quota_bytes !== undefined) host.quota_watch.track(node, { pid, quota_bytes: quota_bytes * standby_share })
  if ((await findUses(node.service_sockets))?.get(number)?.use === 'off') await use('in')
  return { ...observed, pid, events: [...observed.events, ...restartEventsOf(number, lost)] }
}

type Loss = 'absent' | 'died' | 'hangs'

/** Why no client can read from the node as it is; undefined when one can. */
async function lossOf(node: Node): Promise<Loss | undefined> {
  const { postmaster, died } = await findPostmaster(node)
  if (!postmaster?.ready) return died ? 'died' : 'absent'
  // A node that is about to move into a VPC, or out of one, still listens where it was.
  const at = await inForce(node)
  // Twice, because the machine may be very busy.
  if (await answers(at, answer_within_ms)) return undefined
  return (await answers(at, answer_within_ms)) ? undefined : 'hangs'
}

function restartEventsOf(number: number, lost: Loss | undefined): ObservedEvent[] {
  const why = { absent: undefined, died: 'died', hangs: 'did not answer any more' }[lost ?? 'absent']
  return why === undefined ? [] : [{ kind: 'restarted', message: `node ${number} ${why} and was started again` }]
}

/** Whether readers have another node to go to. A set of one has no choice. */
async function canSpare({ wanted, node }: ReplicaSet, number: number): Promise<boolean> {
  if (wanted.nodes === 1) return true
  for (let other = 0; other < wanted.nodes; other++) {
    if (other !== number && (await findReady(nodeAt(node, other, 'standby'))) !== undefined) return true
  }
  return false
}

async function findReady(node: Node): Promise<number | undefined> {
  const { postmaster } = await findPostmaster(node)
  return postmaster?.ready ? postmaster.pid : undefined
}

const watchedAs = ({ service_id }: Node, number: number) => `${service_id}/${number}`
