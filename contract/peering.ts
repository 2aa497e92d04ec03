// Peerings: links between two VPCs. Each side has a peering of its own, and traffic flows while both are there.
import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'

export const peering_statuses = ['pending', 'active', 'failed'] as const
export type PeeringStatus = (typeof peering_statuses)[number]

export const Peering = Type.Object(
  {
    id: Type.String(),
    peer_account_id: Type.String({ description: 'The project of the peer VPC.' }),
    peer_region_code: Type.String(),
    peer_vpc_id: Type.String(),
    status: Type.Enum([...peering_statuses]),
    error_message: Type.Optional(
      Type.String({ description: 'Why it failed, or what a pending one waits for, such as whose consent.' }),
    ),
    provisioned_id: Type.Optional(Type.String({ description: 'What the region calls the link, once it is made.' })),
  },
  { $id: 'Peering' },
)
export type Peering = Static<typeof Peering>

const printable = '^[\\u0021-\\u007e]+$'

export const CreatePeeringInput = Type.Object({
  peer_account_id: Type.String({ minLength: 1, maxLength: 64, pattern: printable }),
  peer_region_code: Type.String({ minLength: 1, maxLength: 64, pattern: printable }),
  peer_vpc_id: Type.String({ minLength: 1, maxLength: 64, pattern: printable }),
})

const all = '/projects/{project_id}/vpcs/{vpc_id}/peerings'
const one = `${all}/{peering_id}`
const tag = 'Peerings'

export const peering_endpoints = {
  listPeerings: endpoint({
    method: 'GET',
    path: all,
    summary: 'List the peerings of a VPC',
    tag,
    access: 'viewer',
    success: 200,
    output: Type.Array(Peering),
  }),
  createPeering: endpoint({
    method: 'POST',
    path: all,
    summary: 'Peer a VPC with another one',
    description:
      'It becomes active when the other side has created the same peering towards this VPC. Where the caller administers both projects, both sides are created at once.',
    tag,
    access: 'admin',
    body: CreatePeeringInput,
    faults: ['CONFLICT', 'QUOTA_EXCEEDED'],
    success: 201,
    output: Peering,
  }),
  getPeering: endpoint({
    method: 'GET',
    path: one,
    summary: 'Get a peering',
    tag,
    access: 'viewer',
    success: 200,
    output: Peering,
  }),
  deletePeering: endpoint({
    method: 'DELETE',
    path: one,
    summary: 'Delete a peering',
    description:
      'Nothing passes any more when the answer arrives, in either direction, open connections included. The other side’s peering is pending again, or goes too where one request made both.',
    tag,
    access: 'admin',
    success: 204,
  }),
}
