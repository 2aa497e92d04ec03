// The network of one VPC: a network namespace with a bridge, the VPC's own address on it, and no way out. Missing
// parts are added line by line, so that the next pass finishes a change that was killed.
//
// 1. The host's route to the range is barred before the namespace is made, and opened after it is removed.
// 2. Nothing is ever forwarded: a packet that comes in over an interface is for an address of this namespace or is refused,
//    whatever the host's own setting for forwarding, which new namespaces inherit.
import { readdir, stat, statfs } from 'node:fs/promises'
import type { WantedVpc } from '../../provider.ts'
import { gatewayOf, prefixOf } from '../../cidr.ts'
import type { Effect } from '../host/effect.ts'
import type { NetworksOwner } from './owner-process.ts'
import { changeNetwork, listIn, makeNamespace, removeNamespace } from './ip.ts'
import { bridge, peerOf, vpcOf } from './name.ts'
import { namespaceAt, namespacesOf, type Namespace, type NetworkNames } from './namespace.ts'

type Host = NetworkNames & { effect: Effect; networks_owner: NetworksOwner }

export type Network = {
  namespace: Namespace
  links: ReadonlyMap<string, { up: boolean; addresses: ReadonlySet<string> }>
  /** By their range: the interface that leads there. */
  routes: ReadonlyMap<string, string | undefined>
  closed: boolean
}

/** The kernel's magic number of a namespace file. */
const nsfs_magic = 0x6e_73_66_73
const closed_priority = 10

/** Returns the network as it is now, and whether it had to be changed. */
export async function ensureNetwork(host: Host, { vpc_id, cidr }: WantedVpc): Promise<Network & { changed: boolean }> {
  const namespace = namespaceAt(host, vpc_id)
  await host.networks_owner.ensure()
  const found = await findNetwork(namespace)
  if (!found) {
    // Of a server that died between making the file and making it a namespace.
    if ((await findInode(namespace)) !== undefined) {
      await host.effect('network: remove unfinished')
      await removeNamespace(namespace)
    }
    await host.effect('network: make')
    await makeNamespace(namespace)
  }
  const network = found ?? (await getNetwork(namespace))
  const lines = missingIn(network, cidr)
  if (lines.length === 0) return { ...network, changed: false }
  await host.effect('network: furnish')
  await changeNetwork(namespace, lines)
  return { ...(await getNetwork(namespace)), changed: true }
}

/** Its links first: the namespace itself may live on for a while, with a program that a tenant runs inside. */
export async function ensureNetworkRemoved(host: Host, vpc_id: string): Promise<void> {
  const namespace = namespaceAt(host, vpc_id)
  const network = await findNetwork(namespace)
  const links = [...(network?.links.keys() ?? [])].filter((link) => link === bridge || peerOf(link) !== undefined)
  if (links.length > 0) {
    await host.effect('network: empty')
    const lines = links.map((link) => `link delete ${link}`)
    await changeNetwork(namespace, lines)
  }
  if ((await findInode(namespace)) === undefined) return
  await host.effect('network: remove')
  await removeNamespace(namespace)
}

/** Undefined when there is no such namespace. */
export async function findNetwork(namespace: Namespace): Promise<Network | undefined> {
  const stats = await statfs(namespace.path).catch(() => undefined)
  return stats?.type === nsfs_magic ? await getNetwork(namespace) : undefined
}

/** Of the namespace's file: it identifies the namespace. A path through a dead process may lead anywhere. */
export async function findInode({ path }: Namespace): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.ino
}

/** Nothing of it is missing, so that a link can be made to it. */
export const isWhole = (network: Network, cidr: string) => missingIn(network, cidr).length === 0

export async function listVpcs(host: NetworkNames): Promise<string[]> {
  const names = await readdir(namespacesOf(host)).catch(() => [])
  return names.map((name) => vpcOf(host, name)).filter((vpc_id) => vpc_id !== undefined)
}

async function getNetwork(namespace: Namespace): Promise<Network> {
  const { links, routes, rules } = await listIn(namespace)
  return {
    namespace,
    links: new Map(
      links.map(({ ifname, flags, addr_info }) => [
        ifname,
        { up: flags.includes('UP'), addresses: new Set(addr_info.map((each) => `${each.local}/${each.prefixlen}`)) },
      ]),
    ),
    routes: new Map(routes.map(({ dst, dev }) => [dst, dev])),
    closed: rules.some(({ priority, action }) => priority === closed_priority && action === 'unreachable'),
  }
}

function missingIn({ links, closed }: Network, cidr: string): string[] {
  const own = `${gatewayOf(cidr)}/${prefixOf(cidr)}`
  const at_bridge = links.get(bridge)
  return [
    ...(closed ? [] : [`rule add priority ${closed_priority} not iif lo unreachable`]),
    ...(links.get('lo')?.up ? [] : ['link set lo up']),
    ...(at_bridge ? [] : [`link add ${bridge} type bridge`]),
    ...(at_bridge?.addresses.has(own) ? [] : [`address add ${own} dev ${bridge}`]),
    ...(at_bridge?.up ? [] : linkUp(bridge)),
  ]
}

/** Without the IPv6 address that every interface otherwise gives itself: a second, unwanted way in. */
export const linkUp = (link: string): string[] => [`link set ${link} addrgenmode none`, `link set ${link} up`]
