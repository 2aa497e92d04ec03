// A pass over one VPC on this host: its network, and exactly the links that are wanted. Every step reads first.
import type { ObservedVpc, WantedPeer, WantedVpc } from '../../provider.ts'
import type { Machine } from '../host/machine.ts'
import { overlap } from '../../cidr.ts'
import type { VpcRanges } from './ranges.ts'
import type { VpcWatch } from './watch.ts'
import { ensureBarrier, ensureBarrierRemoved } from './barrier.ts'
import { removeLink, ensureLink } from './link.ts'
import type { NetworksOwner } from '../network/owner-process.ts'
import { linkTo, peerOf } from '../network/name.ts'
import { namespaceAt } from '../network/namespace.ts'
import {
  ensureNetwork,
  ensureNetworkRemoved,
  findInode,
  findNetwork,
  isWhole,
  listVpcs,
  type Network,
} from '../network/network.ts'

const look_again_soon_seconds = 1
/** The watch notices a removed namespace; this is for a namespace that loses a part. */
const look_again_when_well_seconds = 300
const look_again_when_refused_seconds = 300

export type VpcHost = Pick<Machine, 'directory' | 'installation_id' | 'effect'> & {
  vpc_watch: VpcWatch
  networks_owner: NetworksOwner
  /** Which ranges they may have. */
  vpc_ranges: VpcRanges
  /** Why there are no networks here. */
  networkRefusal(): Promise<string | undefined>
}

export async function applyVpc(host: VpcHost, wanted: WantedVpc): Promise<ObservedVpc> {
  const refusal = await host.networkRefusal()
  if (wanted.deleted) return await ensureVpcRemoved(host, wanted.vpc_id, refusal)
  if (refusal !== undefined) return setback(refusal, look_again_when_refused_seconds)
  const unbarred = await ensureBarrier(host, wanted)
  const network = await ensureNetwork(host, wanted)
  host.vpc_watch.track(wanted.vpc_id, network.namespace.path)
  await cutOthers(host, network, wanted.peers)
  const observed = await ensureLinks(host, network, wanted)
  // Servers in the namespace before must move, and addresses may have been lost.
  if (network.changed) host.vpc_watch.tellServices(wanted.vpc_id)
  return unbarred === undefined ? observed : { waiting_for: unbarred, ...observed }
}

/** So that nothing of ours is left on a host whose databases are all stopped. The next pass makes it again. */
export async function removeAllVpcs(host: VpcHost): Promise<void> {
  for (const vpc_id of await listVpcs(host)) await ensureVpcRemoved(host, vpc_id, undefined)
  await host.networks_owner.end()
}

async function ensureVpcRemoved(host: VpcHost, vpc_id: string, refusal: string | undefined): Promise<ObservedVpc> {
  host.vpc_watch.forget(vpc_id)
  if (refusal !== undefined) {
    // Networks that could not be made need not be removed.
    const there = await findInode(namespaceAt(host, vpc_id))
    return there !== undefined ? setback(refusal, look_again_when_refused_seconds) : { settled: true, peers: [] }
  }
  const network = await findNetwork(namespaceAt(host, vpc_id))
  if (network) await cutOthers(host, network, [])
  await ensureNetworkRemoved(host, vpc_id)
  await ensureBarrierRemoved(host, vpc_id)
  return { settled: true, peers: [] }
}

async function cutOthers(host: VpcHost, network: Network, peers: readonly WantedPeer[]): Promise<void> {
  for (const link of network.links.keys()) {
    const vpc_id = peerOf(link)
    if (vpc_id === undefined || peers.some((peer) => peer.vpc_id === vpc_id)) continue
    await removeLink(host.effect, network, { vpc_id, namespace: namespaceAt(host, vpc_id) })
  }
}

async function ensureLinks(host: VpcHost, network: Network, wanted: WantedVpc): Promise<ObservedVpc> {
  const peers: { peering_id: string; provisioned_id: string }[] = []
  let waiting_for: string | undefined
  for (const [at, peer] of wanted.peers.entries()) {
    const before = [wanted, ...wanted.peers.slice(0, at).filter(({ vpc_id }) => vpc_id !== peer.vpc_id)]
    const clash = before.find(({ cidr }) => overlap(cidr, peer.cidr))
    const far = clash ? undefined : await findNetwork(namespaceAt(host, peer.vpc_id))
    if (far && isWhole(far, peer.cidr)) {
      await ensureLink(host.effect, { ...wanted, network }, { ...peer, network: far })
      peers.push({ peering_id: peer.peering_id, provisioned_id: `${network.namespace.name}/${linkTo(peer.vpc_id)}` })
    } else if (clash) {
      waiting_for = `the range ${peer.cidr} of VPC ${peer.vpc_id} overlaps ${clash.cidr} of VPC ${clash.vpc_id}; delete one of the peerings`
    } else {
      waiting_for ??= `the network of VPC ${peer.vpc_id} is not there yet`
    }
  }
  if (waiting_for !== undefined) return { ...setback(waiting_for, look_again_soon_seconds), peers }
  return { settled: true, peers, look_again_seconds: look_again_when_well_seconds }
}

function setback(waiting_for: string, look_again_seconds: number): ObservedVpc {
  return { settled: false, waiting_for, look_again_seconds, peers: [] }
}
