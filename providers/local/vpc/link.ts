// The link between two peers: a pair of interfaces, one in each namespace, and in each a route to the other's range and to
// nothing else. Either side may make, finish or remove it; both come to the same, because all names follow from the two VPCs.
import { gatewayOf } from '../../cidr.ts'
import type { Effect } from '../host/effect.ts'
import { changeNetwork, closeConnections } from '../network/ip.ts'
import { bridge, linkTo } from '../network/name.ts'
import type { Namespace } from '../network/namespace.ts'
import { findNetwork, linkUp, type Network } from '../network/network.ts'

export type Side = { vpc_id: string; cidr: string; network: Network }

export async function ensureLink(effect: Effect, one: Side, other: Side): Promise<void> {
  const ends = [one.network.links.has(linkTo(other.vpc_id)), other.network.links.has(linkTo(one.vpc_id))]
  const whole = ends.every(Boolean)
  if (!whole) {
    // A single end leads into a namespace that was removed by hand while a program was still in it.
    if (ends[0]) await removeEnd(effect, one.network, other.vpc_id)
    if (ends[1]) await removeEnd(effect, other.network, one.vpc_id)
    await makeLink(effect, one, other)
  }
  await ensureEnd(effect, one, other, whole)
  await ensureEnd(effect, other, one, whole)
}

/**
 * From the first step on nothing passes. Then open connections are closed, instead of waiting for hours with
 * their locks. The interfaces are removed last, because a later pass finds the rest of the work by them.
 */
export async function removeLink(effect: Effect, network: Network, peer: { vpc_id: string; namespace: Namespace }) {
  const link = linkTo(peer.vpc_id)
  if (network.links.get(link)?.up) {
    await effect('link: cut')
    await changeLink(network, peer.vpc_id, `link set ${link} down`)
  }
  const far = await findNetwork(peer.namespace)
  if (far) {
    await effect('link: end connections')
    await Promise.all([endBetween(network, far), endBetween(far, network)])
  }
  await removeEnd(effect, network, peer.vpc_id)
}

/**
 * Neither end sends ARP requests: there is only the other end, and it has the same hardware address. Whether such
 * requests are answered for addresses of another interface is a setting of the host, which new namespaces inherit.
 */
const silent = 'address 02:00:00:00:00:01 arp off'

async function makeLink(effect: Effect, one: Side, other: Side): Promise<void> {
  const [near_end, far_end] = [linkTo(other.vpc_id), linkTo(one.vpc_id)]
  const line = `link add ${near_end} ${silent} type veth peer name ${far_end} ${silent} netns ${other.network.namespace.name}`
  await effect('link: make')
  await changeNetwork(one.network.namespace, [line]).catch(async (error: unknown) => {
    // The other side may have been faster; both ends come into being at once.
    if (!(await findNetwork(one.network.namespace))?.links.has(near_end)) throw error
  })
}

async function ensureEnd(effect: Effect, { cidr, network }: Side, far: Side, whole: boolean): Promise<void> {
  const link = linkTo(far.vpc_id)
  const up = whole && network.links.get(link)?.up === true
  const lines = [
    ...(up ? [] : linkUp(link)),
    ...(up && network.routes.get(far.cidr) === link
      ? []
      : [`route replace ${far.cidr} dev ${link} src ${gatewayOf(cidr)}`]),
  ]
  if (lines.length === 0) return
  await effect('link: open')
  await changeNetwork(network.namespace, lines)
}

/** The other end is removed with it. */
async function removeEnd(effect: Effect, network: Network, peer_id: string): Promise<void> {
  await effect('link: remove')
  await changeLink(network, peer_id, `link delete ${linkTo(peer_id)}`)
}

/** For changes while a link is removed: the other side may have been faster, and then there is nothing left to change. */
async function changeLink({ namespace }: Network, peer_id: string, line: string): Promise<void> {
  await changeNetwork(namespace, [line]).catch(async (error: unknown) => {
    if ((await findNetwork(namespace))?.links.has(linkTo(peer_id))) throw error
  })
}

async function endBetween(near: Network, far: Network): Promise<void> {
  const range = [...far.routes].find(([, link]) => link === bridge)?.[0]
  if (range !== undefined) await closeConnections(near.namespace, range)
}
