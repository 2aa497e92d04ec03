// The rules of VPCs, pure: what a request may ask, where a service is reached.
import assert from 'node:assert/strict'
import type { Vpc } from '#contract/vpc.ts'
import type { Endpoint, WantedNetwork, WantedVpc } from '#providers/provider.ts'
import type { LinkRow } from '../peering/store.ts'
import type { AddressRole, AddressRow } from '../address.ts'
import type { VpcRow } from './store.ts'

export const vpcs_per_project_max = 100

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

/** What has addresses: a service or a replica set. */
type Owner = { addresses: readonly AddressRow[] }

/** Where it is outside of VPCs, for ever. */
export function homeOf(owner: Owner, role: AddressRole = 'service'): Endpoint {
  return endpointOf(owner, null, role)
}

/** Where it is reached now: in the VPC that its service is in, or at home. */
export function endpointOf({ addresses }: Owner, vpc_id: number | null, role: AddressRole = 'service'): Endpoint {
  const found = addresses.find((one) => one.vpc_id === vpc_id && one.role === role)
  assert(found !== undefined, 'what is wanted somewhere has an address there')
  return { host: found.host, port: found.port }
}

/** Where it is in the network of that VPC; undefined when its service is in none. */
export function networkOf(owner: Owner, vpc_id: number | null): WantedNetwork | undefined {
  if (vpc_id === null) return undefined
  const pooler = owner.addresses.find((one) => one.vpc_id === vpc_id && one.role === 'pooler')
  const network = { vpc_id: String(vpc_id), address: endpointOf(owner, vpc_id).host }
  return pooler === undefined ? network : { ...network, pooler_address: pooler.host }
}
