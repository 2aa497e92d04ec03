// The rules of peerings, pure: what can never be linked, and what a row says of itself.
//
// What a peering tells about the peer: nothing that its side has not agreed to tell. The peer VPC is read (does it
// exist, where, which block) only when the caller can see its project anyway, or when that side has created its own peering
// towards this VPC. Until then a peering with a VPC that exists and one with a VPC that does not are both pending, in the
// same words, for ever. That an account is no project of this installation is told: such an id is unguessable, and
// a caller that mistypes one, or means an outside account, must learn it.
import { overlaps, parseCidr } from '#contract/cidr.ts'
import type { Peering } from '#contract/peering.ts'
import type { Problem } from '#contract/problem.ts'
import type { VpcRow } from '../vpc/store.ts'
import type { LinkRow, PeeringRow } from '../vpc/peerings.ts'

export const peerings_per_vpc_max = 100

type Side = Pick<VpcRow, 'id' | 'project_id' | 'region_code' | 'cidr'>

export const no_driver =
  'no project of this installation has the id in peer_account_id, and no driver for outside accounts is configured'

export function peerNotFound(named: { peer_account_id: string; peer_vpc_id: string }): string {
  return `the peer was not found: project ${named.peer_account_id} has no VPC ${named.peer_vpc_id}`
}

export function ownPeerProblems(
  at: { project_id: string; vpc_id: string },
  { peer_account_id, peer_vpc_id }: { peer_account_id?: string; peer_vpc_id?: string },
): Problem[] {
  const is_own = peer_account_id === at.project_id && peer_vpc_id === at.vpc_id
  return is_own ? [{ path: '/peer_vpc_id', message: 'a VPC cannot be its own peer' }] : []
}

/** Why these two can never be linked; undefined when they can. */
export function linkProblem(one: Side, other: Side): string | undefined {
  if (one.region_code !== other.region_code) {
    return `the regions differ: VPC ${one.id} is in ${one.region_code}, VPC ${other.id} in ${other.region_code}; only VPCs of one region can be peers`
  }
  if (!overlaps(parseCidr(one.cidr), parseCidr(other.cidr))) return undefined
  return `the CIDR blocks overlap: VPC ${one.id} has ${one.cidr}, VPC ${other.id} has ${other.cidr}`
}

/** Why one side cannot have this peer beside those that it has; undefined when it can. It would not know which is meant. */
export function ambiguityOf(side: Side, peer: Side, links: readonly Pick<LinkRow, 'vpc_id' | 'cidr'>[]) {
  const block = parseCidr(peer.cidr)
  const clash = links.some(({ vpc_id, cidr }) => vpc_id !== peer.id && overlaps(parseCidr(cidr), block))
  // Which VPC overlaps is not told: it is not the peer's business.
  return clash
    ? `the CIDR blocks overlap: VPC ${side.id} has a peer already whose block overlaps ${peer.cidr}`
    : undefined
}

/** Why what one side wrote about the other is wrong; undefined when it is right. */
export function regionProblem(peer_region_code: string, peer: Side): string | undefined {
  if (peer_region_code === peer.region_code) return undefined
  return `the region is wrong: VPC ${peer.id} is in ${peer.region_code}, not in ${peer_region_code}`
}

export function peeringView(row: PeeringRow): Peering {
  const { status, error_message } = statusOf(row)
  return {
    id: String(row.id),
    peer_account_id: row.peer_account_id,
    peer_region_code: row.peer_region_code,
    peer_vpc_id: row.peer_vpc_id,
    status,
    ...(error_message !== undefined && { error_message }),
    ...(row.provisioned_id !== null && status === 'active' && { provisioned_id: row.provisioned_id }),
  }
}

function statusOf(row: PeeringRow): Pick<Peering, 'status' | 'error_message'> {
  if (row.failure !== null) return { status: 'failed', error_message: row.failure }
  if (!row.consented) return { status: 'pending', error_message: consentMissing(row) }
  if (row.provisioned_id !== null) return { status: 'active' }
  return row.vpc_waiting_for === null
    ? { status: 'pending' }
    : { status: 'pending', error_message: row.vpc_waiting_for }
}

function consentMissing({ peer_account_id, peer_vpc_id, vpc_id, project_id }: PeeringRow): string {
  return `project ${peer_account_id} has not consented: one of its administrators creates a peering of VPC ${peer_vpc_id} with VPC ${vpc_id} of project ${project_id}`
}
