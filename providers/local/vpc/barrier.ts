// The host's own route to the range of a VPC: there must be none. Without this barrier a program on the host that dials an
// address of the VPC would reach the owner of that address outside, by the default route. Every VPC has a route of its
// own, told apart by its metric, so that VPCs with the same range never share one. An ordinary user cannot bar the host.
// Nothing is ever added to the host's routing table that is outside the operator's ranges or that the host needs itself,
// whatever the API accepted; such a route of a former version is removed.
import type { WantedVpc } from '../../provider.ts'
import type { Effect } from '../host/effect.ts'
import { isHostRoot } from '../../host/privilege.ts'
import { changeNetwork, listUnreachable } from '../network/ip.ts'
import { metricOf, type Named } from '../network/name.ts'
import { isOutside, readHostUse, vpcRefusal, type VpcRanges } from './ranges.ts'

type Host = Named & { effect: Effect; vpc_ranges: VpcRanges }

/** Marks the routes that we made, in the column of the routing table for their origin. */
const protocol = '172'

/** A sentence when the host's routing table does not get this range. */
export async function ensureBarrier(host: Host, { vpc_id, cidr }: WantedVpc): Promise<string | undefined> {
  if (!isHostRoot()) return undefined
  const refusal = vpcRefusal(host.vpc_ranges, await readHostUse(), cidr)
  if (refusal !== undefined) {
    await ensureBarrierRemoved(host, vpc_id)
    return withoutSentence(host.vpc_ranges, cidr, refusal)
  }
  const metric = metricOf(host, vpc_id)
  const found = (await listUnreachable(protocol)).filter((route) => route.metric === metric)
  if (found.some(({ dst }) => dst === cidr)) return undefined
  await host.effect('host route: add')
  await changeNetwork(undefined, [`route add ${wordsOf(cidr, metric)}`])
  return undefined
}

export async function ensureBarrierRemoved(host: Host, vpc_id: string): Promise<void> {
  if (!isHostRoot()) return
  const metric = metricOf(host, vpc_id)
  const found = (await listUnreachable(protocol)).filter((route) => route.metric === metric)
  if (found.length === 0) return
  await host.effect('host route: remove')
  const lines = found.map(({ dst }) => `route delete ${wordsOf(dst, metric)}`)
  await changeNetwork(undefined, lines)
}

const wordsOf = (cidr: string, metric: number) => `unreachable ${cidr} proto ${protocol} metric ${metric}`

function withoutSentence(ranges: VpcRanges, cidr: string, refusal: string): string {
  const unbarred = `the network is kept, but the host has no route that keeps its own programs from dialling ${cidr} elsewhere`
  if (!isOutside(ranges, cidr)) return `${unbarred}: ${refusal}`
  const wider = [...ranges.vpc_ranges, cidr].join(',')
  return `${unbarred}: it is outside the ranges for VPCs; if the host needs no address of it, start the server with --vpc-ranges ${wider}`
}
