// Read replica sets: standbys of a service that only read, behind one endpoint. The resource, its inputs, its endpoints.
import type { Static } from 'typebox'
import { endpoint } from './endpoint.ts'
import { ReplicaSetId } from './id.ts'
import {
  choice,
  ConnectionPooler,
  Environment,
  GivenName,
  input,
  integer,
  Message,
  Metadata,
  Name,
  Nodes,
  ServiceEndpoint,
  SetCpuMillis,
  SetMemoryGbs,
  text,
} from './schema.ts'
import { replica_set_statuses } from './replica-set-status.ts'
import { accepted_statuses } from './service-status.ts'
import { Type } from './type.ts'

export const nodes_max = 10

const node_roles = ['primary', 'sync', 'async'] as const
const lag_description = 'Absent for the primary.'

export const ServiceNode = Type.Object(
  {
    node: integer('Its number, from 0.', 1),
    role: choice(node_roles, '`sync`: its confirmation counts for commits that wait for a standby.', 'sync'),
    state: Type.Optional(
      text('How its primary says that it is connected; `streaming`: as it should be. Absent: not known.', 'streaming'),
    ),
    lag_bytes: Type.Optional(integer(`Bytes of WAL that it has yet to replay. ${lag_description}`, 0)),
    lag_seconds: Type.Optional(
      Type.Number({
        description: `Age of the commit that it replayed last; 0 when it has all. ${lag_description}`,
        examples: [0],
      }),
    ),
  },
  { $id: 'ServiceNode', description: 'A PostgreSQL server of a service or of a read replica set.' },
)
export type ServiceNode = Static<typeof ServiceNode>

export const ReadReplicaSet = Type.Object(
  {
    id: ReplicaSetId,
    name: GivenName,
    nodes: integer('How many standbys share its endpoint.', 2),
    cpu_millis: integer('Milli-cores of each node.', 1000),
    memory_gbs: integer('Gigabytes of each node.', 4),
    endpoint: ServiceEndpoint,
    connection_pooler: Type.Optional(ConnectionPooler),
    metadata: Metadata,
    members: Type.Optional(
      Type.Array(ServiceNode, { description: 'Its nodes that the primary knows, as of a few seconds ago.' }),
    ),
    status: choice(replica_set_statuses, '`active`: all its nodes follow the primary.', 'active'),
  },
  { $id: 'ReadReplicaSet', description: 'Standbys of a service that only read, behind one endpoint.' },
)
export type ReadReplicaSet = Static<typeof ReadReplicaSet>

export const CreateReplicaSetInput = input(
  {
    name: Name,
    nodes: Type.Optional(Nodes(nodes_max)),
    cpu_millis: Type.Optional(SetCpuMillis),
    memory_gbs: Type.Optional(SetMemoryGbs),
  },
  { name: 'reports', nodes: 2, cpu_millis: 500, memory_gbs: 2 },
)

const sets = '/projects/{project_id}/services/{service_id}/replicaSets'
const one = `${sets}/{replica_set_id}`
const tag = 'Read replica sets'

export const replica_set_endpoints = {
  listReplicaSets: endpoint({
    method: 'GET',
    path: sets,
    summary: 'List the read replica sets of a service',
    tag,
    access: 'viewer',
    success: 200,
    output: Type.Array(ReadReplicaSet),
  }),
  createReplicaSet: endpoint({
    method: 'POST',
    path: sets,
    summary: 'Create a read replica set',
    description: 'Its status is `active` when all its nodes follow the primary.',
    tag,
    access: 'developer',
    follows: 'replica_set',
    accepts: accepted_statuses.replica_set,
    body: CreateReplicaSetInput,
    faults: ['CONFLICT', 'QUOTA_EXCEEDED'],
    success: 202,
    output: ReadReplicaSet,
  }),
  deleteReplicaSet: endpoint({
    method: 'DELETE',
    path: one,
    summary: 'Delete a read replica set',
    tag,
    access: 'developer',
    follows: 'gone',
    accepts: accepted_statuses.replica_set,
    success: 202,
  }),
  resizeReplicaSet: endpoint({
    method: 'POST',
    path: `${one}/resize`,
    summary: 'Change the CPU and memory of the nodes of a read replica set',
    tag,
    access: 'developer',
    interrupts: true,
    follows: 'replica_set',
    accepts: accepted_statuses.replica_set,
    body: input({ cpu_millis: SetCpuMillis, memory_gbs: SetMemoryGbs }, { cpu_millis: 1000, memory_gbs: 4 }),
    success: 202,
    output: Message,
  }),
  enableReplicaSetPooler: endpoint({
    method: 'POST',
    path: `${one}/enablePooler`,
    summary: 'Enable the connection pooler of a read replica set',
    description: 'The answer comes when it accepts logins.',
    tag,
    access: 'developer',
    accepts: accepted_statuses.replica_set,
    faults: ['CONFLICT'],
    success: 200,
    output: Message,
  }),
  disableReplicaSetPooler: endpoint({
    method: 'POST',
    path: `${one}/disablePooler`,
    summary: 'Disable the connection pooler of a read replica set',
    description: 'Its port stays reserved for it.',
    tag,
    access: 'developer',
    interrupts: true,
    accepts: accepted_statuses.replica_set,
    faults: ['CONFLICT'],
    success: 200,
    output: Message,
  }),
  setReplicaSetEnvironment: endpoint({
    method: 'POST',
    path: `${one}/setEnvironment`,
    summary: 'Set the environment tag of a read replica set',
    tag,
    access: 'developer',
    accepts: accepted_statuses.describe,
    body: input({ environment: Environment }, { environment: 'PROD' }),
    success: 200,
    output: Message,
  }),
}
