// The host's own way to the range of a VPC: there must be none. Without this route a program on the host that dials an
// address of the VPC would reach whoever has that address outside, by the default route. Every VPC has a route of its
// own, told apart by its metric, so that VPCs with the same range never share one. An ordinary user cannot bar the host.
import type { WantedVpc } from '../../provider.ts'
import type { Effect } from '../effect.ts'
import { changeNetwork, listUnreachable } from './ip.ts'
import { metricOf, type Named } from './name.ts'
import { isRoot } from './namespace.ts'

type Host = Named & { effect: Effect }

/** Marks the routes that we made, in a column of the routing table that is there for it. */
const protocol = '172'

export async function ensureBarrier(host: Host, { vpc_id, cidr }: WantedVpc): Promise<void> {
  if (!isRoot()) return
  const metric = metricOf(host, vpc_id)
  const found = (await listUnreachable(protocol)).filter((route) => route.metric === metric)
  if (found.some(({ dst }) => dst === cidr)) return
  await host.effect('host route: add')
  await changeNetwork(undefined, [`route add ${wordsOf(cidr, metric)}`])
}

export async function ensureBarrierGone(host: Host, vpc_id: string): Promise<void> {
  if (!isRoot()) return
  const metric = metricOf(host, vpc_id)
  const found = (await listUnreachable(protocol)).filter((route) => route.metric === metric)
  if (found.length === 0) return
  await host.effect('host route: remove')
  const lines = found.map(({ dst }) => `route delete ${wordsOf(dst, metric)}`)
  await changeNetwork(undefined, lines)
}

const wordsOf = (cidr: string, metric: number) => `unreachable ${cidr} proto ${protocol} metric ${metric}`
