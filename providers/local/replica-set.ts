// The whole story of one read replica set on this host: standbys of a service's primary that only read, behind one
// endpoint. Like a service it is looked at first and then moved towards what is wanted.
// 1. It belongs to the operating-system user of its service, because whoever is that user has the data anyway.
// 2. One node listens at the endpoint itself; several listen on loopback addresses of their own, behind a balancer.
// 3. What serves goes on serving while its primary does not, and never do all nodes leave at once.
import type { Happening, ObservedReplicaSet, WantedReplicaSet } from '../provider.ts'
import { balancerRefusal, ensureBalancer, ensureBalancerGone } from './balancer.ts'
import { ensureDataGone, ensureNodeHome, majorOf } from './data-directory.ts'
import { statIfThere } from './effect.ts'
import { installationFor, missingExtensionSentence, type PostgresInstallation } from './installation.ts'
import { listeningAt, nodeOf, placeOf, type Place } from './layout.ts'
import type { LocalHost } from './local-host.ts'
import { ensureNodesStopped } from './nodes.ts'
import { ensurePooler, ensurePoolerGone } from './pooler.ts'
import { findPrimary } from './primary.ts'
import { ensureNodes, ensureNodesGone, ensureSurplusGone, nodeAddressOf, type ReplicaSet } from './replica-nodes.ts'
import { ensureCertificate } from './server-certificate.ts'
import { ensureInNetwork, hostsOf, probeAt } from './service-network.ts'
import { connectionsOf } from './settings.ts'
import { ensureSharedMemoryGone } from './shared-memory.ts'

const port_in_a_network = 5_432
const look_again_soon_seconds = 1
const look_again_after_setback_seconds = 3
/** A death and a node that is late are noticed by themselves. */
const look_again_when_well_seconds = 300

export async function applyReplicaSet(host: LocalHost, wanted: WantedReplicaSet): Promise<ObservedReplicaSet> {
  const set = await replicaSetOf(host, wanted)
  if (wanted.deleted || wanted.service.deleted) return await ensureGone(host, set.place)
  if (wanted.service.power === 'off') return await ensureOff(host, set.place)
  return await ensureServing(host, set)
}

async function replicaSetOf(host: LocalHost, wanted: WantedReplicaSet): Promise<ReplicaSet> {
  const { service, replica_set_id, network } = wanted
  const listen = network ? { host: network.address, port: port_in_a_network } : wanted.endpoint
  const service_port = service.network ? port_in_a_network : service.endpoint.port
  const own = (id: string) => placeOf(host.directory, id, service.endpoint.port, host.as_root)
  const of_service = listeningAt(own(service.service_id), service_port)
  const primary = nodeOf(of_service, (await findPrimary(of_service)).node, 'primary')
  return { wanted, place: listeningAt(own(replica_set_id), listen.port), primary, listen }
}

async function ensureGone(host: LocalHost, place: Place): Promise<ObservedReplicaSet> {
  host.watch.forget(place.service_id)
  host.vpc_watch.place(place.service_id, undefined)
  host.balance_watch.forget(place.service_id)
  await host.jobs.end(place.service_id)
  await ensurePoolerGone(host, place)
  await ensureBalancerGone(host, place)
  const waiting_for = await ensureNodesGone(host, place)
  if (waiting_for !== undefined) return setback('unknown', waiting_for, look_again_soon_seconds)
  if (place.owner) await ensureSharedMemoryGone(host.effect, place.owner)
  await ensureDataGone(host.effect, place)
  return { state: 'absent', settled: true, happenings: [] }
}

async function ensureOff(host: LocalHost, place: Place): Promise<ObservedReplicaSet> {
  host.watch.forget(place.service_id)
  host.balance_watch.forget(place.service_id)
  await ensurePoolerGone(host, place)
  await ensureBalancerGone(host, place)
  const waiting_for = await ensureNodesStopped(host.effect, place)
  if (waiting_for !== undefined) return setback('not_serving', waiting_for, look_again_soon_seconds)
  return { state: 'stopped', settled: true, happenings: [] }
}

async function ensureServing(host: LocalHost, set: ReplicaSet): Promise<ObservedReplicaSet> {
  const { wanted, place } = set
  const lacking = wanted.nodes > 1 ? await balancerRefusal() : undefined
  if (lacking !== undefined) return setback(await stateOf(place), lacking)
  const installation = await findInstallation(host, set)
  if (typeof installation === 'string') return setback(await stateOf(place), installation)
  await ensureNodeHome(host.effect, place)
  host.vpc_watch.place(place.service_id, wanted.network?.vpc_id)
  const no_network = await ensureInNetwork(host, wanted.network)
  if (no_network !== undefined) return setback(await stateOf(place), no_network, look_again_soon_seconds)
  await ensureCertificate(host.effect, place, host.authority, hostsOf(wanted))
  // One node takes the endpoint for itself.
  if (wanted.nodes === 1) await ensureBalancerGone(host, place)
  const nodes = await ensureNodes(host, set, installation)
  const trouble = await ensureFront(host, set, nodes.running > 0)
  if (nodes.running > 0 && trouble === undefined) await ensureSurplusGone(host, place, wanted.nodes)
  const pooling = nodes.running > 0 ? await ensurePooling(host, set) : undefined
  const happenings = [...nodes.happenings, ...(pooling?.happenings ?? [])]
  const login = nodes.running > 0 ? await loginTrouble(host, set) : 'none of its nodes runs yet'
  const waiting_for = nodes.waiting_for ?? trouble ?? login ?? pooling?.waiting_for
  const state = login === undefined ? 'serving' : await stateOf(place)
  if (waiting_for === undefined) {
    return { state, settled: true, look_again_seconds: look_again_when_well_seconds, happenings }
  }
  const look_again_seconds = nodes.look_again_seconds ?? pooling?.look_again_seconds ?? look_again_soon_seconds
  return { state, settled: false, waiting_for, look_again_seconds, happenings }
}

/** The balancer of several nodes, and who of them gets readers. A sentence while it does not balance. */
async function ensureFront(host: LocalHost, set: ReplicaSet, some_run: boolean): Promise<string | undefined> {
  const { wanted, place, listen } = set
  const { network } = wanted
  if (wanted.nodes === 1) {
    host.balance_watch.forget(place.service_id)
    return undefined
  }
  if (!some_run) return undefined
  const nodes = Array.from({ length: wanted.nodes }, (_, node) => ({
    node,
    sockets: nodeOf(place, node, 'standby').sockets,
    address: nodeAddressOf(set, node),
  }))
  const connections_max = wanted.nodes * connectionsOf(wanted.size)
  const waiting_for = await ensureBalancer(host, { place, listen, nodes, connections_max, size: wanted.size, network })
  if (waiting_for === undefined) host.balance_watch.track({ set: place, service: set.primary })
  return waiting_for
}

async function ensurePooling(host: LocalHost, set: ReplicaSet) {
  const { wanted, place, primary } = set
  const { pooler, network, size } = wanted
  if (pooler === undefined) {
    await ensurePoolerGone(host, place)
    return undefined
  }
  const address = network?.pooler_address
  return await ensurePooler(host, {
    place,
    primary,
    target_sockets: wanted.nodes === 1 ? nodeOf(place, 0, 'standby').sockets : place.service_sockets,
    target_port: set.listen.port,
    listen: address === undefined ? pooler : { host: address, port: port_in_a_network },
    size,
    // As many as there are when one node is away.
    max_connections: Math.max(1, wanted.nodes - 1) * connectionsOf(size),
    password_verifier: wanted.service.password_verifier,
    network,
  })
}

/** Why the master role cannot log in at the endpoint; undefined when it can. */
async function loginTrouble(host: LocalHost, { wanted, listen: endpoint }: ReplicaSet): Promise<string | undefined> {
  const { password_verifier } = wanted.service
  const wish = { endpoint, password_verifier, authority_pem: host.authority.certificate_pem }
  const login = await probeAt(host, wanted.network, wish)
  if (login.result === 'ok') return undefined
  const reason = login.result === 'failed' ? login.reason : 'the password in force is another one'
  return `a login at ${endpoint.host}:${endpoint.port} does not work yet: ${reason}`
}

/** The same that runs the primary: a standby is of the same major version. A sentence: there is none. */
async function findInstallation(
  host: LocalHost,
  { primary, wanted }: ReplicaSet,
): Promise<PostgresInstallation | string> {
  const major = await majorOf(primary)
  if (major === undefined) return 'its service has no data yet'
  const fitting = host.installations.filter((installation) => installation.major === major)
  const { extensions } = wanted.service
  return installationFor(fitting, extensions) ?? missingExtensionSentence(fitting, extensions)
}

/** What can be said without changing anything. */
async function stateOf(place: Place): Promise<ObservedReplicaSet['state']> {
  return (await statIfThere(place.data)) ? 'not_serving' : 'absent'
}

function setback(
  state: ObservedReplicaSet['state'],
  waiting_for: string,
  look_again_seconds = look_again_after_setback_seconds,
  happenings: readonly Happening[] = [],
): ObservedReplicaSet {
  return { state, settled: false, waiting_for, look_again_seconds, happenings }
}
