// What callers say of a service that they make: its size, its replicas, its addons, when it ends, and the moment a fork begins with;
// and of the services that they look for.
import type { Static } from 'typebox'
import { ServiceId } from './id.ts'
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

/** Examples are sent to a server too, for which they have to lie in the future. */
const later = '2030-01-31T12:00:00Z'

const size_tag_and_expiry = {
  cpu_millis: Type.Optional(CpuMillis),
  memory_gbs: Type.Optional(MemoryGbs),
  environment_tag: Type.Optional({ ...Environment, default: 'DEV' }),
  expires_at: Type.Optional(
    momentInput('When the service is deleted by itself, at most 3650 days from now; left out: never.', later),
  ),
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
    ...size_tag_and_expiry,
    region_code: Type.Optional(text('Left out: the default region.', 'local', { maxLength: 64 })),
    replica_count: Type.Optional({ ...ReplicaCount, default: 0 }),
    sync_replica_count: Type.Optional({ ...SyncReplicaCount, default: 0 }),
  },
  { name: 'shop', cpu_millis: '500', memory_gbs: '2', environment_tag: 'PROD', replica_count: 1 },
)

export const ForkServiceInput = input(
  {
    fork_strategy: choice(strategies, 'NOW: as it is. LAST_SNAPSHOT: its newest one. PITR: at `target_time`.', 'NOW'),
    target_time: Type.Optional(momentInput('For PITR: the moment to recover to.')),
    name: Type.Optional(Name),
    ...size_tag_and_expiry,
    mask: Type.Optional(
      text(
        'SQL that is run in the fork, with the rights of tsdbadmin, before any client reaches it: what it hides is never seen there. If it fails, the fork is UNSTABLE and stays closed. A reset runs it again.',
        "update customers set email = 'customer' || id || '@example.com'",
        { minLength: 1, maxLength: 65_536 },
      ),
    ),
    region_code: Type.Optional(
      text(
        'Left out: the region of its parent. Another one goes with NOW, and copies the parent while it runs; what the two regions lack for it, the refusal says.',
        'eu-1',
        { maxLength: 64 },
      ),
    ),
  },
  { fork_strategy: 'NOW', name: 'shop-preview', cpu_millis: '500', memory_gbs: '2' },
)

const services_per_page_max = 1000

export const ListServicesQuery = input(
  {
    name: Type.Optional(text('Those with exactly this name.', 'shop', { maxLength: 256 })),
    environment: Type.Optional(Environment),
    forked_from: Type.Optional({ ...ServiceId, description: 'The forks of this service.', maxLength: 10 }),
    limit: Type.Optional(
      integer('How many at most; left out: all.', 50, { minimum: 1, maximum: services_per_page_max }),
    ),
    cursor: Type.Optional(
      text(
        '`X-Next-Cursor` of an earlier answer: those that come after it. Opaque.',
        'MTc5NDc0MzQwMDAwMDAwMCBrM3Y5eDJtN3Fw',
        {
          maxLength: 64,
        },
      ),
    ),
  },
  { environment: 'PROD', limit: 50 },
)
export type ListServicesQuery = Static<typeof ListServicesQuery>
