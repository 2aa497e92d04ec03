// Everything that the files of the service slice need from outside. main.ts fills it once.
import type { ServiceMetrics } from '#providers/provider.ts'
import type { Db } from '../store/db.ts'
import type { Healing } from '../healing.ts'
import type { Log } from '../log.ts'
import type { Regions } from '../regions.ts'
import type { Secret } from '../secret.ts'
import type { Settled } from '../settled.ts'
import type { SnapshotPolicy } from '../snapshot/rules.ts'

/** What a service used at a moment. */
export type Sampled = { sampled_ms: number; metrics: ServiceMetrics }

/** How far the backup of a service is: up to which moment its WAL, and of which its newest snapshot. In RFC 3339. And why no farther. */
export type BackedUp = { wal_until?: string; last_backup_at?: string; problem?: string }

export type ServiceContext = {
  db: Db
  log: Log
  providers: Regions
  /** Knows what services used last. */
  sampler: { latest(service_id: string): Sampled | undefined }
  /** Undefined without backups. */
  backedUp(service_id: string): BackedUp | undefined
  healing: Pick<Healing, 'passBegins' | 'eventsOf' | 'told'>
  secret: Secret
  settled: Settled
  snapshot_policy: SnapshotPolicy
  /** How long a deleted service is kept; 0: not at all. */
  undelete_seconds: number
}
