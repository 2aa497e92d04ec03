// Peerings: links between two VPCs. Each side has a peering of its own, and traffic flows while both are there.
import type { Static } from 'typebox'
import { endpoint } from './endpoint.ts'
import { PeeringId } from './id.ts'
import { choice, input, text } from './schema.ts'
import { Type } from './type.ts'

const peering_statuses = ['pending', 'active', 'failed'] as const
export type PeeringStatus = (typeof peering_statuses)[number]

const members = {
  id: PeeringId,
  peer_account_id: text('The project of the peer VPC.', 'p8d4t6w1zn'),
  peer_region_code: text('The region of the peer VPC.', 'local'),
  peer_vpc_id: text('The id of the peer VPC.', '13'),
  status: choice(peering_statuses, '`active`: traffic flows. `failed` ones stay so until they are deleted.', 'active'),
  error_message: Type.Optional(
    text(
      'Why it failed, or what a pending one waits for, such as whose consent.',
      'the CIDR blocks overlap: VPC 12 has 10.64.0.0/24, VPC 13 has 10.64.0.0/25',
    ),
  ),
  provisioned_id: Type.Optional(text('What the region calls the link, once it is made.', 'link-12-13')),
}

export const Peering = Type.Object(members, { $id: 'Peering', description: 'One side of a link between two VPCs.' })
export type Peering = Static<typeof Peering>

const ProjectPeering = Type.Object(
  { ...members, vpc_id: text('The VPC of the project that has this side.', '12') },
  { $id: 'ProjectPeering', description: 'One side of a link between two VPCs, and whose it is.' },
)

const printable = '^[\\u0021-\\u007e]+$'

const code = { minLength: 1, maxLength: 64, pattern: printable }

const CreatePeeringInput = input(
  {
    peer_account_id: text(
      'The id of the project that the peer VPC is in: this one, or another one.',
      'p8d4t6w1zn',
      code,
    ),
    peer_region_code: text('The region of the peer VPC; both must be in one.', 'local', code),
    peer_vpc_id: text('The id of the peer VPC.', '13', code),
  },
  { peer_account_id: 'p8d4t6w1zn', peer_region_code: 'local', peer_vpc_id: '13' },
)

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
  listProjectPeerings: endpoint({
    method: 'GET',
    path: '/projects/{project_id}/peerings',
    summary: 'List the peerings of all VPCs of a project',
    tag,
    access: 'viewer',
    success: 200,
    output: Type.Array(ProjectPeering),
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
