// What this installation can do, for clients that would rather know than try: facts of each region, and limits of all.
import type { Static } from 'typebox'
import { endpoint } from './endpoint.ts'
import { MetricDescription } from './metric.ts'
import { choice, flag, integer, text } from './schema.ts'
import { addons } from './service-input.ts'
import { Type } from './type.ts'

const offered = flag('Whether it can be had here.', true)
const reason = Type.Optional(
  text(
    'Why it is not offered, and what to do about it.',
    'the connection pooler needs PgBouncer, which this host does not have; install it with apt-get install pgbouncer',
  ),
)
const Offered = Type.Object({ offered, reason }, { $id: 'Offered', description: 'Whether it can be had, or why not.' })

const OfferedSize = Type.Object(
  {
    cpu_millis: integer('Milli-cores.', 500),
    memory_gbs: integer('Gigabytes of memory.', 2),
    offered,
    reason,
  },
  { $id: 'OfferedSize', description: 'A size, and whether the region can run it.' },
)

const OfferedAddon = Type.Object(
  { name: choice(addons, 'What `addons` of a new service names.', 'ai'), offered, reason },
  { $id: 'OfferedAddon', description: 'An addon, and whether a PostgreSQL of the region has its extension.' },
)

export const Region = Type.Object(
  {
    code: text('What `region_code` of a request names.', 'local'),
    is_default: flag('Whether things are made here when the request names no region.', true),
    provider: text('What makes its services, such as `local`: PostgreSQL on one machine.', 'local'),
    volume_type: text('What its disks are.', 'local'),
    copy_on_write: flag('Whether forks and snapshots share blocks with their source.', true),
    postgres_versions: Type.Array(text('A version of PostgreSQL.', '18.4'), { description: 'Newest first.' }),
    sizes: Type.Array(OfferedSize, { description: 'All sizes, the smallest first.' }),
    shared: Offered,
    addons: Type.Array(OfferedAddon, { description: 'All addons.' }),
    features: Type.Object(
      {
        pooler: Offered,
        replica_sets: Offered,
        vpcs: Offered,
        snapshots: Offered,
        forks_in: Offered,
        forks_out: Offered,
        rewinds: Offered,
        drills: Offered,
        logs: Offered,
        complete_logs: Offered,
        limits: Offered,
        queries: Offered,
        read_only_sessions: Offered,
      },
      {
        description:
          'Connection poolers, replica sets of several nodes, VPCs, snapshots with forks of the past, forks of services of other regions, forks of its services into those, rewinds in place, restores that are tried out, logs of databases, logs that have every login, every entry of a burst and all from before a stop, limits that the system keeps, SQL statements through the API, and database sessions that ask to read only: offered where each is held to it or refused.',
      },
    ),
  },
  { $id: 'Region', description: 'A place where services run, and what it offers.' },
)

const retention = Type.Object(
  {
    snapshots: Type.Object(
      {
        interval_seconds: integer('Seconds between two snapshots by the schedule.', 86_400),
        kept: integer('How many of those are kept.', 7),
      },
      { description: 'Snapshots by the schedule.' },
    ),
    deleted_services: Type.Object(
      { seconds: integer('For how long a deleted service can be restored; 0: not at all.', 86_400) },
      { description: 'Services that were deleted.' },
    ),
    events: Type.Object(
      {
        seconds: integer('How old an event of a service gets.', 31_536_000),
        kept: integer('How many of a service are kept, the newest.', 5000),
        removed_seconds: integer('How old an event gets whose service is removed for good.', 3_024_000),
      },
      { description: 'Events of services: the limit that is met first counts.' },
    ),
    logs: Type.Object(
      {
        seconds: integer('How old an entry gets.', 604_800),
        bytes: integer('How much of a log is kept.', 1_073_741_824),
      },
      { description: 'Logs of databases: the limit that is met first counts.' },
    ),
    metrics: Type.Array(
      Type.Object(
        {
          bucket_seconds: integer('Seconds that one value stands for.', 10),
          kept_seconds: integer('For how long such values are kept.', 3600),
        },
        { description: 'One fineness.' },
      ),
      { description: 'From the finest to the coarsest.' },
    ),
  },
  { description: 'How long things are kept.' },
)

const limits = Type.Object(
  {
    services_per_project: integer('Services of a project.', 1000),
    replicas_per_service: integer('Replicas that can take over.', 5),
    replica_sets_per_service: integer('Read replica sets of a service.', 4),
    nodes_per_replica_set: integer('Nodes of a read replica set.', 10),
    vpcs_per_project: integer('VPCs of a project.', 100),
  },
  { description: 'How many there may be.' },
)

export const Capabilities = Type.Object(
  {
    version: text('The version of the server.', '1.0.0'),
    login: choice(['password', 'oidc'], 'How people log in: here, or at an OpenID Connect issuer.', 'password'),
    regions: Type.Array(Region, { description: 'Those that this server serves.' }),
    metrics: Type.Array(MetricDescription, { description: 'Those of every service.' }),
    retention,
    limits,
  },
  { $id: 'Capabilities', description: 'What this installation can do.' },
)
export type Capabilities = Static<typeof Capabilities>

export const capability_endpoints = {
  getCapabilities: endpoint({
    method: 'GET',
    path: '/capabilities',
    summary: 'Get what this installation can do',
    description: 'Version, regions with what each offers or why not, metrics, how long things are kept, and limits.',
    tag: 'Installation',
    access: 'caller',
    success: 200,
    output: Capabilities,
  }),
}
