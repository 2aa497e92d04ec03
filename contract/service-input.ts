// What callers say of a service that they make: its size, its replicas, its addons, and the moment a fork begins with.
import { choice, CpuMillis, Environment, input, integer, MemoryGbs, momentInput, Name, text } from './schema.ts'
import { strategies } from './snapshot.ts'
import { Type } from './type.ts'

export const addons = ['time-series', 'ai'] as const
export type Addon = (typeof addons)[number]

export const replica_count_max = 5
const counts = { minimum: 0, maximum: replica_count_max }
export const ReplicaCount = integer('Standbys that can take over, synchronous ones included.', 2, counts)
export const SyncReplicaCount = integer(
  'For how many of the replicas every commit waits; at most `replica_count`.',
  1,
  counts,
)

const size_and_tag = {
  cpu_millis: Type.Optional(CpuMillis),
  memory_gbs: Type.Optional(MemoryGbs),
  environment_tag: Type.Optional(Environment),
}

export const CreateServiceInput = input(
  {
    name: Name,
    addons: Type.Optional(
      Type.Array(Type.Enum([...addons]), {
        maxItems: 16,
        description:
          '`time-series`: TimescaleDB; `ai`: pgvector. The service runs the newest PostgreSQL of the region that has all of them.',
        examples: [['ai']],
      }),
    ),
    ...size_and_tag,
    region_code: Type.Optional(text('Left out: the default region.', 'local', { maxLength: 64 })),
    replica_count: Type.Optional(ReplicaCount),
    sync_replica_count: Type.Optional(SyncReplicaCount),
  },
  { name: 'shop', cpu_millis: '500', memory_gbs: '2', environment_tag: 'PROD', replica_count: 1 },
)

export const ForkServiceInput = input(
  {
    fork_strategy: choice(strategies, 'NOW: as it is. LAST_SNAPSHOT: its newest one. PITR: at `target_time`.', 'NOW'),
    target_time: Type.Optional(momentInput('For PITR: the moment to recover to.')),
    name: Type.Optional(Name),
    ...size_and_tag,
    region_code: Type.Optional(
      text('A fork is made in the region of its parent; another one is refused.', 'local', { maxLength: 64 }),
    ),
  },
  { fork_strategy: 'NOW', name: 'shop-preview', cpu_millis: '500', memory_gbs: '2' },
)
