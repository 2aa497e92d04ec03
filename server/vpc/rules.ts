// The rules of VPCs, pure: how a row becomes what callers and a provider get.
import type { Vpc } from '#contract/vpc.ts'
import type { WantedVpc } from '#providers/provider.ts'
import type { LinkRow } from './peerings.ts'
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
