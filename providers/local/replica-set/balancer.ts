// The balancer of a replica set of several nodes: HAProxy at the set's endpoint, configured anew whenever the nodes change.
import type { Endpoint, ObservedEvent, Size } from '../../provider.ts'
import { ensureHaproxy, ensureHaproxyRemoved, findHaproxyProgram } from '../haproxy/process.ts'
import type { Node } from '../host/layout.ts'
import type { ReplicaSetHost } from './replica-set-host.ts'
import { networkPrefix } from '../network/service-network.ts'
import { type BalancedNode, balancerSettingsOf } from './balancer-settings.ts'

type Balancing = {
  /** Of the replica set: its home, user and own socket folder. */
  node: Node
  listen: Endpoint
  nodes: readonly BalancedNode[]
  connections_max: number
  size: Size
  /** In which it listens; absent: in the host's. */
  vpc_id: string | undefined
}

const refusal =
  'a replica set of several nodes needs HAProxy, which this host does not have; ' +
  'install it with apt-get install haproxy, or ask for one node'

/** What is missing on this host for a set of several nodes, and how to get it. */
export async function balancerRefusal(): Promise<string | undefined> {
  return (await findHaproxyProgram()) === undefined ? refusal : undefined
}

/** `waiting_for`: a sentence while it does not balance as wanted. */
export type ObservedBalancer = { waiting_for?: string; events: readonly ObservedEvent[] }

export async function ensureBalancer(host: ReplicaSetHost, spec: Balancing): Promise<ObservedBalancer> {
  const { node, vpc_id, listen, size } = spec
  const missing = await balancerRefusal()
  if (missing !== undefined) return { waiting_for: missing, events: [] }
  const prefix = networkPrefix(host, vpc_id)
  const settings = balancerSettingsOf({ ...spec, sockets: node.service_sockets, prefix })
  const observed = await ensureHaproxy(host, {
    node,
    name: 'balancer',
    settings,
    listen: [listen],
    size,
    vpc_id,
    gracefully: true,
  })
  if (typeof observed === 'string') return { waiting_for: observed, events: [] }
  host.watch.track(watchedAs(node), observed.pid)
  const message = 'the balancer died and was started again'
  return { events: observed.died ? [{ kind: 'restarted', message }] : [] }
}

export async function ensureBalancerRemoved(host: ReplicaSetHost, node: Node): Promise<void> {
  host.watch.forget(watchedAs(node))
  await ensureHaproxyRemoved(host, node, 'balancer')
}

const watchedAs = (node: Node) => `${node.service_id}/balancer`
