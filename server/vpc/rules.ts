// The rules of VPCs, pure: what a request may ask, which address is next, where a service is reached.
import assert from 'node:assert/strict'
import { addressIn, parseCidr } from '#contract/cidr.ts'
import type { Vpc } from '#contract/vpc.ts'
import type { Endpoint, WantedNetwork, WantedVpc } from '#providers/provider.ts'
import type { LinkRow } from '../peering/store.ts'
import type { ServiceRow } from '../service/store.ts'
import type { VpcRow } from './store.ts'

export const vpcs_per_project_max = 100

/** Everything in a VPC listens there. */
const vpc_port = 5432
/** The network itself, and the VPC's own address. */
const first_index = 2

export type Placed = Pick<ServiceRow, 'vpc_id' | 'vpc_addresses'>

/** A service that leaves is passed as still inhabiting: its network goes after it. */
export function wantedVpcOf(row: VpcRow, links: readonly LinkRow[], inhabited: boolean): WantedVpc {
  return {
    vpc_id: String(row.id),
    deleted: row.deleted_at !== null && !inhabited,
    cidr: row.cidr,
    peers: links.map(({ link_id, vpc_id, cidr }) => ({ peering_id: String(link_id), vpc_id: String(vpc_id), cidr })),
  }
}

export function vpcView(row: VpcRow): Vpc {
  return { id: String(row.id), cidr: row.cidr, name: row.name, region_code: row.region_code }
}

/** The lowest address that nobody holds; undefined when all are taken. The last one is the broadcast address. */
export function freeAddress(cidr: string, taken: readonly string[]): string | undefined {
  const block = parseCidr(cidr)
  const held = new Set(taken)
  for (let index = first_index; index < block.size - 1; index += 1) {
    const address = addressIn(block, index)
    if (!held.has(address)) return address
  }
  return undefined
}

/** Who holds the address of its pooler. */
export const poolerOf = (holder: string) => `${holder}/pooler`

/** Where a service, or what else of it has this name, is in the network; undefined for a service that is in no VPC. */
export function networkOf(row: Placed, holder = 'service'): WantedNetwork | undefined {
  if (row.vpc_id === null) return undefined
  const network = { vpc_id: String(row.vpc_id), address: addressOf(row, holder) }
  const pooler_address = row.vpc_addresses?.[poolerOf(holder)]
  return pooler_address === undefined ? network : { ...network, pooler_address }
}

/** Where something of a service is reached now: at its address in the VPC, or at its own endpoint. */
export function endpointOf(row: Placed, holder: string, own: Endpoint): Endpoint {
  return row.vpc_id === null ? own : { host: addressOf(row, holder), port: vpc_port }
}

function addressOf({ vpc_addresses }: Placed, holder: string): string {
  const address = vpc_addresses?.[holder]
  assert(address !== undefined, 'whatever is in a VPC has an address there')
  return address
}
