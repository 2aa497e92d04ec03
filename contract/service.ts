// Services: the resource, its inputs, and its endpoints.
import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { ReadReplicaSet } from './replica-set.ts'
import { ConnectionPooler, Environment, Message, Name, ServiceEndpoint, Timestamp } from './schema.ts'
import { strategies } from './snapshot.ts'
import { accepted_statuses, service_statuses } from './service-status.ts'

export const service_types = ['TIMESERIESDB', 'POSTGRES', 'VECTOR'] as const
export const addons = ['time-series', 'ai'] as const
export type Addon = (typeof addons)[number]

const CpuMillis = Type.String({ maxLength: 32, description: 'Milli-cores as a numeric string, or `shared`.' })
const MemoryGbs = Type.String({ maxLength: 32, description: 'Gigabytes as a numeric string, or `shared`.' })

export const replica_count_max = 5
export const ReplicaCount = Type.Integer({
  minimum: 0,
  maximum: replica_count_max,
  description: 'Standbys that can take over, synchronous ones included.',
})
export const SyncReplicaCount = Type.Integer({
  minimum: 0,
  maximum: replica_count_max,
  description: 'For how many of the replicas every commit waits; at most `replica_count`.',
})

const VpcEndpoint = Type.Object({ host: Type.String(), port: Type.Integer(), vpc_id: Type.String() })

export const Service = Type.Object(
  {
    service_id: Type.String(),
    project_id: Type.String(),
    name: Type.String(),
    created: Timestamp,
    region_code: Type.String(),
    service_type: Type.Enum([...service_types]),
    postgres_version: Type.Optional(
      Type.String({ description: 'Which PostgreSQL it runs, such as `18.4`; absent until it has served.' }),
    ),
    status: Type.Enum([...service_statuses]),
    endpoint: ServiceEndpoint,
    connection_pooler: Type.Optional(ConnectionPooler),
    vpcEndpoint: Type.Optional(VpcEndpoint),
    vpc_endpoint: Type.Optional(VpcEndpoint),
    forked_from: Type.Optional(
      Type.Object({ is_standby: Type.Boolean(), project_id: Type.String(), service_id: Type.String() }),
    ),
    ha_replicas: Type.Object({ replica_count: Type.Integer(), sync_replica_count: Type.Integer() }),
    initial_password: Type.Optional(
      Type.String({ format: 'password', description: 'Only in the answer of the request that made the service.' }),
    ),
    metadata: Type.Object({ environment: Type.String() }),
    metrics: Type.Optional(
      Type.Object(
        { memory_mb: Type.Integer(), milli_cpu: Type.Integer(), storage_mb: Type.Integer() },
        { description: 'What it used a few seconds ago; absent while nothing runs.' },
      ),
    ),
    read_replica_sets: Type.Array(ReadReplicaSet),
    resources: Type.Array(
      Type.Object({
        id: Type.String(),
        spec: Type.Object({
          cpu_millis: Type.Optional(Type.Integer()),
          memory_gbs: Type.Optional(Type.Integer()),
          disk_gbs: Type.Optional(
            Type.Integer({
              description: 'What data, WAL and archive may take together; absent: as much as there is.',
            }),
          ),
          volume_type: Type.String(),
        }),
      }),
    ),
  },
  { $id: 'Service' },
)
export type Service = Static<typeof Service>

export const ServiceEvent = Type.Object(
  {
    time: Timestamp,
    kind: Type.String({ description: 'created, settled, setback, recovered, restarted, …' }),
    message: Type.String(),
  },
  { $id: 'ServiceEvent' },
)

export const CreateServiceInput = Type.Object({
  name: Name,
  addons: Type.Optional(
    Type.Array(Type.Enum([...addons]), {
      maxItems: 16,
      description:
        '`time-series`: TimescaleDB; `ai`: pgvector. The service runs the newest PostgreSQL of the region that has all of them.',
    }),
  ),
  cpu_millis: Type.Optional(CpuMillis),
  memory_gbs: Type.Optional(MemoryGbs),
  environment_tag: Type.Optional(Environment),
  region_code: Type.Optional(Type.String({ maxLength: 64 })),
  replica_count: Type.Optional(ReplicaCount),
  sync_replica_count: Type.Optional(SyncReplicaCount),
})

export const ForkServiceInput = Type.Object({
  fork_strategy: Type.Enum([...strategies]),
  target_time: Type.Optional(
    Type.String({ format: 'date-time', maxLength: 64, description: 'For PITR: the moment to recover to.' }),
  ),
  name: Type.Optional(Name),
  cpu_millis: Type.Optional(CpuMillis),
  memory_gbs: Type.Optional(MemoryGbs),
  environment_tag: Type.Optional(Environment),
})

const one = '/projects/{project_id}/services/{service_id}'
const tag = 'Services'

export const service_endpoints = {
  listServices: endpoint({
    method: 'GET',
    path: '/projects/{project_id}/services',
    summary: 'List the services of a project',
    tag,
    access: 'viewer',
    success: 200,
    output: Type.Array(Service),
  }),
  createService: endpoint({
    method: 'POST',
    path: '/projects/{project_id}/services',
    summary: 'Create a service',
    description: 'Asynchronous: poll the service until it is READY. `initial_password` is shown in this answer only.',
    tag,
    access: 'developer',
    idempotent: true,
    body: CreateServiceInput,
    success: 202,
    output: Service,
  }),
  getService: endpoint({
    method: 'GET',
    path: one,
    summary: 'Get a service',
    description:
      'With `Prefer: wait=<seconds>` the answer comes as soon as nothing is under way any more, such as when a new service is READY.',
    tag,
    access: 'viewer',
    waits: true,
    success: 200,
    output: Service,
  }),
  deleteService: endpoint({
    method: 'DELETE',
    path: one,
    summary: 'Delete a service and all its data',
    tag,
    access: 'developer',
    success: 202,
  }),
  renameService: endpoint({
    method: 'POST',
    path: `${one}/rename`,
    summary: 'Rename a service',
    tag,
    access: 'developer',
    accepts: accepted_statuses.describe,
    body: Type.Object({ name: Name }),
    success: 200,
    output: Service,
  }),
  resizeService: endpoint({
    method: 'POST',
    path: `${one}/resize`,
    summary: 'Change the CPU and memory of a service',
    tag,
    access: 'developer',
    accepts: accepted_statuses.resize,
    body: Type.Object({ cpu_millis: CpuMillis, memory_gbs: MemoryGbs }),
    success: 202,
    output: Service,
  }),
  forkService: endpoint({
    method: 'POST',
    path: `${one}/forkService`,
    summary: 'Create a new, independent service from a moment of this one',
    description: 'Asynchronous like create. `initial_password` is shown in this answer only.',
    tag,
    access: 'developer',
    accepts: accepted_statuses.fork,
    idempotent: true,
    body: ForkServiceInput,
    success: 202,
    output: Service,
  }),
  startService: endpoint({
    method: 'POST',
    path: `${one}/start`,
    summary: 'Start a stopped service',
    tag,
    access: 'developer',
    accepts: accepted_statuses.start,
    success: 202,
    output: Service,
  }),
  stopService: endpoint({
    method: 'POST',
    path: `${one}/stop`,
    summary: 'Stop a service; its data stays',
    tag,
    access: 'developer',
    accepts: accepted_statuses.stop,
    success: 202,
    output: Service,
  }),
  updatePassword: endpoint({
    method: 'POST',
    path: `${one}/updatePassword`,
    summary: 'Set the master password',
    description: 'In force for new logins when the answer arrives. Only a SCRAM verifier is stored.',
    tag,
    access: 'developer',
    accepts: accepted_statuses.update_password,
    body: Type.Object({
      password: Type.String({
        format: 'password',
        minLength: 8,
        maxLength: 256,
        pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
        description: '8 to 256 characters, without control characters.',
      }),
    }),
    faults: ['CONFLICT'],
    success: 204,
  }),
  setEnvironment: endpoint({
    method: 'POST',
    path: `${one}/setEnvironment`,
    summary: 'Set the environment tag of a service',
    tag,
    access: 'developer',
    accepts: accepted_statuses.describe,
    body: Type.Object({ environment: Environment }),
    success: 200,
    output: Message,
  }),
  listServiceEvents: endpoint({
    method: 'GET',
    path: `${one}/events`,
    summary: 'What happened to a service, newest first',
    tag,
    access: 'viewer',
    success: 200,
    output: Type.Array(ServiceEvent),
  }),
}
