// VPCs: private networks of a project, and which services are in them.
import type { Static } from 'typebox'
import { endpoint } from './endpoint.ts'
import { VpcId } from './id.ts'
import { GivenName, input, Message, Name, RegionCode, text } from './schema.ts'
import { accepted_statuses } from './service-status.ts'
import { Type } from './type.ts'

export const Vpc = Type.Object(
  { id: VpcId, cidr: text('Its block of addresses.', '10.64.0.0/24'), name: GivenName, region_code: RegionCode },
  { $id: 'Vpc', description: 'A private network of a project.' },
)
export type Vpc = Static<typeof Vpc>

export const CreateVpcInput = input(
  {
    cidr: text(
      'A private IPv4 network (RFC 1918 or 100.64.0.0/10) from /16 to /28 that overlaps no other VPC of the project, in one of the ranges that the region gives to VPCs: 10.64.0.0/10 unless its operator chose others.',
      '10.64.0.0/24',
      { maxLength: 64 },
    ),
    name: Name,
    region_code: Type.Optional(
      text('A region of this installation; by default its default region.', 'local', { maxLength: 64 }),
    ),
  },
  { cidr: '10.64.0.0/24', name: 'home', region_code: 'local' },
)

const GivenVpcId = text('The id of a VPC of the same project and region.', '12', { maxLength: 64 })

const all = '/projects/{project_id}/vpcs'
const one = `${all}/{vpc_id}`
const service = '/projects/{project_id}/services/{service_id}'
const tag = 'VPCs'

export const vpc_endpoints = {
  listVpcs: endpoint({
    method: 'GET',
    path: all,
    summary: 'List the VPCs of a project',
    tag,
    access: 'viewer',
    success: 200,
    output: Type.Array(Vpc),
  }),
  createVpc: endpoint({
    method: 'POST',
    path: all,
    summary: 'Create a VPC',
    description: 'A network of its own: nothing reaches it but what is in it, and its active peers.',
    tag,
    access: 'admin',
    body: CreateVpcInput,
    faults: ['CONFLICT', 'QUOTA_EXCEEDED'],
    success: 201,
    output: Vpc,
  }),
  getVpc: endpoint({
    method: 'GET',
    path: one,
    summary: 'Get a VPC',
    tag,
    access: 'viewer',
    success: 200,
    output: Vpc,
  }),
  renameVpc: endpoint({
    method: 'POST',
    path: `${one}/rename`,
    summary: 'Rename a VPC',
    tag,
    access: 'admin',
    body: input({ name: Name }, { name: 'home' }),
    success: 200,
    output: Vpc,
  }),
  deleteVpc: endpoint({
    method: 'DELETE',
    path: one,
    summary: 'Delete a VPC',
    description: 'While services are attached to it or it has peerings it stays, and the 409 names them.',
    tag,
    access: 'admin',
    faults: ['CONFLICT'],
    success: 204,
  }),
  attachToVpc: endpoint({
    method: 'POST',
    path: `${service}/attachToVPC`,
    summary: 'Move the endpoints of a service into a VPC',
    description:
      'The service is CONFIGURING until it answers at its address in the VPC, on port 5432, and from then on nowhere else. Open connections end.',
    tag,
    access: 'developer',
    interrupts: true,
    follows: 'service',
    accepts: accepted_statuses.attach,
    body: input({ vpc_id: GivenVpcId }, { vpc_id: '12' }),
    faults: ['CONFLICT'],
    success: 202,
    output: Message,
  }),
  detachFromVpc: endpoint({
    method: 'POST',
    path: `${service}/detachFromVPC`,
    summary: 'Move the endpoints of a service out of its VPC',
    description: 'The service answers at its former endpoint again.',
    tag,
    access: 'developer',
    interrupts: true,
    follows: 'service',
    accepts: accepted_statuses.attach,
    body_optional: true,
    body: input({ vpc_id: Type.Optional(GivenVpcId) }, {}),
    faults: ['CONFLICT'],
    success: 202,
    output: Message,
  }),
}
