// Services: the resource and its endpoints.
import type { Static } from 'typebox'
import { endpoint } from './endpoint.ts'
import { ProjectId, ServiceId } from './id.ts'
import { plain_text_pattern } from './problem.ts'
import { ReadReplicaSet, ServiceNode } from './replica-set.ts'
import {
  choice,
  ConnectionPooler,
  CpuMillis,
  Environment,
  flag,
  GivenName,
  Host,
  input,
  integer,
  MemoryGbs,
  Message,
  Metadata,
  moment,
  Name,
  Port,
  RegionCode,
  ServiceEndpoint,
  text,
} from './schema.ts'
import {
  CreateServiceInput,
  ForkServiceInput,
  ListServicesQuery,
  ReplicaCount,
  SyncReplicaCount,
} from './service-input.ts'
import { Protection } from './protection.ts'
import { SnapshotPolicy } from './snapshot.ts'
import { accepted_statuses, service_statuses } from './service-status.ts'
import { Type } from './type.ts'

const service_types = ['TIMESERIESDB', 'POSTGRES', 'VECTOR'] as const
const VpcEndpoint = Type.Object(
  { host: Host, port: Port, vpc_id: text('The VPC that the service is attached to.', '12') },
  { $id: 'VpcEndpoint', description: 'Where clients in the VPC connect; there while the service is attached to one.' },
)

const ServiceResource = Type.Object({
  id: text('The id of the service.', 'k3v9x2m7qp'),
  spec: Type.Object(
    {
      cpu_millis: Type.Optional(integer('Milli-cores; absent for a shared service.', 1000)),
      memory_gbs: Type.Optional(integer('Gigabytes of memory; absent for a shared service.', 4)),
      disk_gbs: Type.Optional(integer('For data, WAL and archive together; absent: as much as there is.', 100)),
      max_connections: integer('How many sessions its PostgreSQL takes at once, those of a pooler included.', 200),
      volume_type: text('What kind of storage the region gives.', 'local'),
    },
    { description: 'What the service may use.' },
  ),
})

export const Service = Type.Object(
  {
    service_id: ServiceId,
    project_id: ProjectId,
    name: GivenName,
    created: moment('When it was made.'),
    expires_at: Type.Optional(moment('When it is deleted by itself; absent: never.', '2030-01-31T12:00:00Z')),
    protected: Type.Optional(
      flag('True: DELETE is refused until `setProtection` says otherwise; so by default for PROD.', true),
    ),
    region_code: RegionCode,
    service_type: choice(service_types, 'Which addons it has: `time-series`, none, or `ai`.', 'POSTGRES'),
    postgres_version: Type.Optional(text('Which PostgreSQL it runs; absent until it has served.', '18.4')),
    running_since: Type.Optional(
      moment('When the PostgreSQL that is its primary now was started; absent while none runs or that is not known.'),
    ),
    status: choice(service_statuses, 'READY: a login at `endpoint` works right now.', 'READY'),
    status_reason: Type.Optional(
      text(
        'What it waits for, or what keeps it from its wanted state; absent while nothing does.',
        'PostgreSQL is starting',
      ),
    ),
    endpoint: ServiceEndpoint,
    connection_pooler: Type.Optional(ConnectionPooler),
    vpcEndpoint: Type.Optional(VpcEndpoint),
    vpc_endpoint: Type.Optional(VpcEndpoint),
    forked_from: Type.Optional(
      Type.Object(
        {
          is_standby: flag('True: a read replica set, shown as a service. False: a fork.', false),
          project_id: ProjectId,
          service_id: ServiceId,
        },
        { description: 'The parent; absent for a service that was made anew.' },
      ),
    ),
    ha_replicas: Type.Object(
      { replica_count: ReplicaCount, sync_replica_count: SyncReplicaCount },
      { description: 'The standbys that can take over.' },
    ),
    replicas: Type.Optional(
      Type.Array(ServiceNode, {
        description: 'The primary and the standbys that it knows, as of a few seconds ago; absent without standbys.',
      }),
    ),
    initial_password: Type.Optional(
      text('Only in the answer of the request that made the service.', 'c0zKq7Zx2mVb9RtY4uWn6eHs1dLf8gPa', {
        format: 'password',
      }),
    ),
    snapshot_policy: Type.Optional({
      ...SnapshotPolicy,
      description: 'Its own schedule of snapshots; absent: that of the installation.',
    }),
    metadata: Metadata,
    metrics: Type.Optional(
      Type.Object(
        {
          memory_mb: integer('Megabytes of memory, of all its processes.', 212),
          milli_cpu: integer('Milli-cores, of all its processes.', 35),
          storage_mb: integer('Megabytes of data and WAL.', 640),
        },
        { description: 'What it used a few seconds ago; absent while nothing runs.' },
      ),
    ),
    protection: Type.Optional(Protection),
    read_replica_sets: Type.Array(ReadReplicaSet, { description: 'Its read replica sets.' }),
    resources: Type.Array(ServiceResource, { description: 'One entry: the size of the service.' }),
  },
  { $id: 'Service', description: 'A PostgreSQL database and how it is reached.' },
)
export type Service = Static<typeof Service>

const one = '/projects/{project_id}/services/{service_id}'
const tag = 'Services'

export const service_endpoints = {
  listServices: endpoint({
    method: 'GET',
    path: '/projects/{project_id}/services',
    summary: 'List the services of a project',
    description: 'The oldest first: all of them, or those that the query chooses.',
    tag,
    access: 'viewer',
    query: ListServicesQuery,
    pages: true,
    success: 200,
    output: Type.Array(Service),
  }),
  createService: endpoint({
    method: 'POST',
    path: '/projects/{project_id}/services',
    summary: 'Create a service',
    description: '`initial_password` is shown in this answer only.',
    tag,
    access: 'developer',
    follows: 'service',
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
      'As it is now. With `Prefer: wait=<seconds>` the answer comes as soon as nothing is under way any more, such as when a new service is READY.',
    tag,
    access: 'viewer',
    waits: 'at rest',
    success: 200,
    output: Service,
  }),
  deleteService: endpoint({
    method: 'DELETE',
    path: one,
    summary: 'Delete a service and all its data',
    description:
      'It is kept for a while, as the installation says, and can be restored (`…/deletedServices`). A protected service is not deleted.',
    tag,
    access: 'developer',
    follows: 'gone',
    faults: ['CONFLICT'],
    success: 202,
  }),
  renameService: endpoint({
    method: 'POST',
    path: `${one}/rename`,
    summary: 'Rename a service',
    tag,
    access: 'developer',
    accepts: accepted_statuses.describe,
    body: input({ name: Name }, { name: 'shop' }),
    success: 200,
    output: Service,
  }),
  resizeService: endpoint({
    method: 'POST',
    path: `${one}/resize`,
    summary: 'Change the CPU and memory of a service',
    tag,
    access: 'developer',
    interrupts: true,
    follows: 'service',
    accepts: accepted_statuses.resize,
    body: input({ cpu_millis: CpuMillis, memory_gbs: MemoryGbs }, { cpu_millis: '1000', memory_gbs: '4' }),
    success: 202,
    output: Service,
  }),
  forkService: endpoint({
    method: 'POST',
    path: `${one}/forkService`,
    summary: 'Create a new, independent service from a moment of this one',
    description: '`initial_password` is shown in this answer only.',
    tag,
    access: 'developer',
    effect: 'add',
    follows: 'service',
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
    follows: 'service',
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
    interrupts: true,
    follows: 'service',
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
    interrupts: true,
    accepts: accepted_statuses.update_password,
    body: input(
      {
        password: text('8 to 256 characters, without control characters.', 'correct horse battery staple', {
          format: 'password',
          minLength: 8,
          maxLength: 256,
          pattern: plain_text_pattern,
        }),
      },
      { password: 'correct horse battery staple' },
    ),
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
    body: input({ environment: Environment }, { environment: 'PROD' }),
    success: 200,
    output: Message,
  }),
}
