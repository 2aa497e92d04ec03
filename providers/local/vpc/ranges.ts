// Which ranges VPCs may have on this host. A tenant chooses a range, and as root the server bars the host's own route to it: so
// a range that the host needs would make that network unreachable for it. The operator's list is the wall; ranges that are known
// to be needed are refused inside it too.
import { readFile } from 'node:fs/promises'
import { isIPv4 } from 'node:net'
import { overlap, within } from '../../cidr.ts'
import { listRoutes, type IpRoute } from '../network/ip.ts'

export type VpcRanges = {
  /** The operator's list. */
  vpc_ranges: readonly string[]
  /** Addresses outside this host without which the server cannot work, such as its metadata store's. */
  needed_addresses: readonly string[]
}

export const vpc_ranges_default = ['10.64.0.0/10'] as const

/** The second has the real name servers where the first names systemd's own resolver. */
const resolver_files = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf']
const leads_nowhere = ['unreachable', 'blackhole', 'prohibit', 'throw']

export type HostUse = { routes: readonly IpRoute[]; name_servers: readonly string[] }

export async function readHostUse(): Promise<HostUse> {
  // A host without iproute2 makes no networks either.
  const [routes, name_servers] = await Promise.all([listRoutes().catch(() => []), listNameServers()])
  return { routes, name_servers }
}

/** Why no VPC can have this range, with what to do; undefined when one can. Pure. */
export function vpcRefusal(ranges: VpcRanges, use: HostUse, cidr: string): string | undefined {
  return rangeRefusal(ranges, cidr) ?? hostRefusal(ranges, use, cidr)
}

export function isOutside({ vpc_ranges }: Pick<VpcRanges, 'vpc_ranges'>, cidr: string): boolean {
  return !vpc_ranges.some((range) => within(cidr, range))
}

function rangeRefusal(ranges: VpcRanges, cidr: string): string | undefined {
  if (!isOutside(ranges, cidr)) return undefined
  return `the range ${cidr} is outside those that this region gives to VPCs: ${ranges.vpc_ranges.join(', ')}; choose a range inside`
}

/** The host's own networks: the targets of its routes, other than everything and nothing, and the servers that it reaches by them. */
function hostRefusal({ needed_addresses }: VpcRanges, { routes, name_servers }: HostUse, cidr: string) {
  const touching = routes.filter(({ dst }) => dst === 'default' || overlap(dst, cidr))
  const route = touching.find(({ type, dst }) => dst !== 'default' && !leads_nowhere.includes(type ?? ''))
  if (route) return usedSentence(cidr, route.dst + (route.dev === undefined ? '' : ` at ${route.dev}`))
  const known = [...touching.flatMap(nextHopsOf), ...name_servers, ...needed_addresses]
  const clash = known.find((address) => overlap(address, cidr))
  return clash === undefined ? undefined : usedSentence(cidr, clash)
}

const usedSentence = (cidr: string, used: string) =>
  `the range ${cidr} overlaps ${used}, which the host of this region uses itself; choose another range`

function nextHopsOf({ gateway, nexthops = [] }: IpRoute): string[] {
  const all = [gateway, ...nexthops.map((hop) => hop.gateway)]
  return all.filter((address) => address !== undefined && isIPv4(address)).map(String)
}

async function listNameServers(): Promise<string[]> {
  const texts = await Promise.all(resolver_files.map((path) => readFile(path, 'utf8').catch(() => '')))
  return texts.flatMap(nameServersIn)
}

/** Those with an IPv4 address, from the text of a resolv.conf. Pure. */
export function nameServersIn(text: string): string[] {
  const named = text.split('\n').map((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? '')
  return named.filter((address) => isIPv4(address))
}
