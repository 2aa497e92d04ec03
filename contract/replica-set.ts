// Read replica sets: standbys of a service that only read, behind one endpoint. The resource, its inputs, its endpoints.
import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { ConnectionPooler, Environment, Message, Name, ServiceEndpoint } from './schema.ts'
import { replica_set_statuses } from './replica-set-status.ts'
import { accepted_statuses } from './service-status.ts'

export const nodes_max = 10

export const ReadReplicaSet = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    nodes: Type.Integer(),
    cpu_millis: Type.Integer({ description: 'Of each node.' }),
    memory_gbs: Type.Integer({ description: 'Of each node.' }),
    endpoint: ServiceEndpoint,
    connection_pooler: Type.Optional(ConnectionPooler),
    metadata: Type.Object({ environment: Type.String() }),
    status: Type.Enum([...replica_set_statuses]),
  },
  { $id: 'ReadReplicaSet' },
)
export type ReadReplicaSet = Static<typeof ReadReplicaSet>

/** A number, or its digits as text: some clients send one, some the other. */
const numeric = (description: string, bounds: { minimum?: number; maximum?: number } = {}) =>
  Type.Unsafe<number | string>({ type: ['integer', 'string'], maxLength: 32, description, ...bounds })

const CpuMillis = numeric('Milli-cores of each node, as a number or as a numeric string.')
const MemoryGbs = numeric('Gigabytes of each node, as a number or as a numeric string.')
const Nodes = numeric('How many standbys, as a number or as a numeric string; 1 by default.', {
  minimum: 1,
  maximum: nodes_max,
})

export const CreateReplicaSetInput = Type.Object({
  name: Name,
  nodes: Type.Optional(Nodes),
  cpu_millis: Type.Optional(CpuMillis),
  memory_gbs: Type.Optional(MemoryGbs),
})

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
    description: 'Asynchronous: its status is `active` when all its nodes follow the primary.',
    tag,
    access: 'developer',
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
    accepts: accepted_statuses.replica_set,
    success: 202,
  }),
  resizeReplicaSet: endpoint({
    method: 'POST',
    path: `${one}/resize`,
    summary: 'Change the CPU and memory of the nodes of a read replica set',
    tag,
    access: 'developer',
    accepts: accepted_statuses.replica_set,
    body: Type.Object({ cpu_millis: CpuMillis, memory_gbs: MemoryGbs }),
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
    body: Type.Object({ environment: Environment }),
    success: 200,
    output: Message,
  }),
}
