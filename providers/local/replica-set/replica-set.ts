// A pass over one read replica set on this host: standbys of a service's primary that only read, behind one
// endpoint. As with a service, every step reads first and then moves towards what is wanted.
// 1. It belongs to the operating-system user of its service, who has the same data anyway.
// 2. One node listens at the endpoint itself; several listen on loopback addresses of their own, behind a balancer.
// 3. Nodes that serve go on serving while their primary does not, and never do all nodes stop at once.
import { messageOf } from '../../host/message.ts'
import type { Endpoint, ObservedReplicaSet, WantedReplicaSet } from '../../provider.ts'
import { balancerRefusal, ensureBalancer, ensureBalancerRemoved, type ObservedBalancer } from './balancer.ts'
import { hasHaproxy } from '../haproxy/process.ts'
import { ensureDataRemoved, ensureNodeHome, installationAt, majorOf } from '../postgres/data-directory.ts'
import { isDiskFull, statIfThere } from '../../host/read.ts'
import type { PostgresInstallation } from '../postgres/installation.ts'
import { listeningAt, nodeAt, noSpaceSentence, nodeOf, type Node } from '../host/layout.ts'
import type { ReplicaSetHost } from './replica-set-host.ts'
import { ensureNodesStopped } from '../ha/nodes.ts'
import { ensurePooler, ensurePoolerRemoved, type ObservedPooler } from '../pooler/pooler.ts'
import { findLeader } from '../postgres/primary.ts'
import { ensureNodes, ensureNodesRemoved, ensureSurplusRemoved, nodeAddressOf, type ReplicaSet } from './nodes.ts'
import { ensureCertificate } from '../postgres/certificate.ts'
import { ensureInNetwork, hostsOf, probeAt } from '../network/service-network.ts'
import { accessTrouble } from '../quota/access.ts'
import { ensureSharedMemoryRemoved } from '../postgres/shared-memory.ts'
import { progress, setback } from '../../setback.ts'
import { Planted } from '../host/tenant-files.ts'
import { loginTroubleOf } from '../../postgres/probe.ts'
import { connectionsOf } from '../../postgres/size.ts'

/** A death and a lagging node are noticed by the watches. */
const look_again_when_well_seconds = 300

export async function applyReplicaSet(host: ReplicaSetHost, wanted: WantedReplicaSet): Promise<ObservedReplicaSet> {
  const set = await replicaSetOf(host, wanted)
  if (wanted.deleted || wanted.service.deleted) return await ensureSetRemoved(host, set.node)
  if (wanted.service.power === 'off') return await ensureOff(host, set.node)
  return await ensureServing(host, set).catch(async (error: unknown) => {
    if (error instanceof Planted) return { ...setback('not_serving', error.message), failed: true }
    if (!isDiskFull(error)) throw error
    return { ...setback(await stateOf(set.node), noSpaceSentence(host.directory)), failed: true }
  })
}

async function replicaSetOf(host: ReplicaSetHost, wanted: WantedReplicaSet): Promise<ReplicaSet> {
  const { service, replica_set_id, reach: listen } = wanted
  const own = (id: string) => nodeOf(host.directory, id, service.home.port, host.as_root)
  const of_service = listeningAt(own(service.service_id), service.reach.port)
  const primary = await findLeader(of_service)
  return { wanted, node: listeningAt(own(replica_set_id), listen.port), primary, listen }
}

async function ensureSetRemoved(host: ReplicaSetHost, node: Node): Promise<ObservedReplicaSet> {
  host.forget(node.service_id)
  await host.jobs.end(node.service_id)
  await ensurePoolerRemoved(host, node)
  await ensureBalancerRemoved(host, node)
  const waiting_for = await ensureNodesRemoved(host, node)
  if (waiting_for !== undefined) return progress('unknown', waiting_for)
  if (node.owner) await ensureSharedMemoryRemoved(host.effect, node.owner)
  await ensureDataRemoved(host.effect, node)
  return { state: 'absent', settled: true, events: [] }
}

async function ensureOff(host: ReplicaSetHost, node: Node): Promise<ObservedReplicaSet> {
  host.forget(node.service_id)
  await ensurePoolerRemoved(host, node)
  await ensureBalancerRemoved(host, node)
  const waiting_for = await ensureNodesStopped(host, node, 'set')
  if (waiting_for !== undefined) return progress('not_serving', waiting_for)
  return { state: 'stopped', settled: true, events: [] }
}

async function ensureServing(host: ReplicaSetHost, set: ReplicaSet): Promise<ObservedReplicaSet> {
  const { wanted, node } = set
  const lacking = wanted.nodes > 1 ? (everywhereSentence(set.listen) ?? (await balancerRefusal())) : undefined
  if (lacking !== undefined) return setback(await stateOf(node), lacking)
  const installation = await findInstallation(host, set)
  if (typeof installation === 'string') return setback(await stateOf(node), installation)
  await ensureNodeHome(host.effect, node)
  host.vpc_watch.assign(node.service_id, wanted.vpc_id)
  const no_network = await ensureInNetwork(host, wanted.vpc_id, set.listen)
  if (no_network !== undefined) return progress(await stateOf(node), no_network)
  await ensureCertificate(host.effect, node, host.authority, hostsOf(wanted))
  // A set of one node has no balancer: the node listens at the endpoint.
  if (wanted.nodes === 1) await ensureBalancerRemoved(host, node)
  // A balancer that died keeps all clients out: it is started before the pass over the nodes.
  const early = (await hasHaproxy(node, 'balancer')) ? await ensureFront(host, set) : undefined
  const nodes = await ensureNodes(host, set, installation)
  if (nodes.running === 0) {
    const { waiting_for = 'none of its nodes runs yet', in_progress, look_again_seconds, failed, events } = nodes
    return { ...setback(await stateOf(node), waiting_for, look_again_seconds), in_progress, failed, events }
  }
  const front = early && early.waiting_for === undefined ? early : await ensureFront(host, set)
  if (front.waiting_for === undefined) await ensureSurplusRemoved(host, node, wanted.nodes)
  const pooling = await ensurePooling(host, set)
  const login = await loginTrouble(host, set)
  const state = login === undefined ? 'serving' : 'not_serving'
  const events = [nodes, front, pooling].flatMap((part) => part.events)
  const waiting_for = nodes.waiting_for ?? front.waiting_for ?? login ?? pooling.waiting_for
  const { in_progress, look_again_seconds } = nodes
  if (waiting_for !== undefined) return { ...setback(state, waiting_for, look_again_seconds), in_progress, events }
  return { state, settled: true, look_again_seconds: look_again_when_well_seconds, events }
}

/** A server that listens at every address occupies those of the nodes too. Undefined: it listens at one. */
function everywhereSentence({ host }: Endpoint): string | undefined {
  if (!['0.0.0.0', '::', '*'].includes(host)) return undefined
  return `several nodes need an endpoint at one address, not at all of them (${host}); set the service host to one`
}

/** The balancer of several nodes, and which of them get readers. */
async function ensureFront(host: ReplicaSetHost, set: ReplicaSet): Promise<ObservedBalancer> {
  const { wanted, node, listen } = set
  const { vpc_id, size } = wanted
  const is_single = wanted.nodes === 1
  const balanced = { set: node, service: set.primary, is_single }
  if (is_single) {
    host.balance_watch.track(balanced)
    return { events: [] }
  }
  const nodes = Array.from({ length: wanted.nodes }, (_, number) => ({
    node: number,
    sockets: nodeAt(node, number, 'standby').sockets,
    address: nodeAddressOf(set, number),
  }))
  const connections_max = wanted.nodes * connectionsOf(size)
  const observed = await ensureBalancer(host, { node, listen, nodes, connections_max, size, vpc_id })
  host.balance_watch.track(balanced)
  return observed
}

/** Its role is made at the primary: while that does not serve, a new pooler has to wait. */
async function ensurePooling(
  host: ReplicaSetHost,
  set: ReplicaSet,
): Promise<Pick<ObservedPooler, 'waiting_for' | 'events'>> {
  const { wanted, node, primary } = set
  const { pooler: listen, vpc_id, size } = wanted
  if (listen === undefined) {
    await ensurePoolerRemoved(host, node)
    return { events: [] }
  }
  const observed = ensurePooler(host, {
    node,
    primary,
    target_sockets: wanted.nodes === 1 ? nodeAt(node, 0, 'standby').sockets : node.service_sockets,
    target_port: set.listen.port,
    listen,
    size,
    // As many as there are without one node.
    max_connections: Math.max(1, wanted.nodes - 1) * connectionsOf(size),
    password_verifier: wanted.service.password_verifier,
    vpc_id,
  })
  return await observed.catch((error: unknown) => {
    if (isDiskFull(error)) throw error
    return {
      waiting_for: `its pooler could not be made: ${messageOf(error)}`,
      events: [],
    }
  })
}

/** Why the master role cannot log in at the endpoint; undefined when it can. */
async function loginTrouble(host: ReplicaSetHost, set: ReplicaSet): Promise<string | undefined> {
  const { wanted, node, listen: endpoint } = set
  if (!host.accessOf(node.service_id).logins) return accessTrouble(host, node.service_id)
  const { password_verifier } = wanted.service
  const spec = { endpoint, password_verifier, authority_pem: host.authority.certificate_pem }
  return loginTroubleOf(await probeAt(host, wanted.vpc_id, spec), `${endpoint.host}:${endpoint.port}`)
}

/** The installation of the primary's major version, which a standby must have too. A sentence: there is none. */
async function findInstallation(
  host: ReplicaSetHost,
  { primary, node, wanted }: ReplicaSet,
): Promise<PostgresInstallation | string> {
  // While the primary has lost its data, the first node still has its own.
  const source = (await majorOf(primary)) === undefined ? node : primary
  if ((await majorOf(source)) === undefined) return 'its service has no data yet'
  return await installationAt(host, source, wanted.service)
}

/** What is known without changing anything. */
async function stateOf(node: Node): Promise<ObservedReplicaSet['state']> {
  return (await statIfThere(node.data)) ? 'not_serving' : 'absent'
}
