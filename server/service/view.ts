// A service as a caller sees it, with what it uses right now.
import type { Service } from '#contract/service.ts'
import type { ServiceState } from '#contract/service-status.ts'
import type { Size } from '#contract/size.ts'
import { diskGbsOf } from '#providers/postgres/size.ts'
import type { Provider } from '#providers/provider.ts'
import type { BackedUp, Sampled, ServiceContext } from './context.ts'
import { serviceView, sizeOf, type Volume } from './rules.ts'
import type { ServiceRow } from './store.ts'

const mib = 1024 ** 2
/** A sample that is older is not shown as the present. */
const sample_age_ms_max = 15_000

export function volumeOf(provider: Provider | undefined, size: Size): Volume {
  if (provider === undefined) return { volume_type: 'unknown' }
  const { volume_type, disk_gbs_per_memory_gb } = provider.facts()
  return { volume_type, disk_gbs: diskGbsOf(size, disk_gbs_per_memory_gb) }
}

export type ServiceView = (row: ServiceRow) => Service

type Known = Pick<ServiceContext, 'providers' | 'sampler' | 'backedUp'>

export function newServiceView({ providers, sampler, backedUp }: Known): ServiceView {
  return (row) => {
    const now = new Date()
    const volume = volumeOf(providers.get(row.region_code), sizeOf(row))
    return {
      ...serviceView(row, { now, ...volume }),
      ...metricsView(sampler.latest(row.service_id), row.state, now),
      protection: protectionView(row, backedUp(row.service_id), now),
    }
  }
}

type Restorable = Pick<
  ServiceRow,
  'restorable_from' | 'restorable_until' | 'last_snapshot_at' | 'proven_restorable_at' | 'drill_error'
>

/** Pure. */
export function protectionView(
  row: Restorable,
  backed_up: BackedUp | undefined,
  now: Date,
): NonNullable<Service['protection']> {
  const { restorable_from: from, restorable_until: until, last_snapshot_at } = row
  return {
    ...(from && { restorable_from: from.toISOString() }),
    ...(from && until && { restorable_until: until.toISOString() }),
    ...(last_snapshot_at && { last_snapshot_at: last_snapshot_at.toISOString() }),
    ...(row.proven_restorable_at && { last_proven_restorable_at: row.proven_restorable_at.toISOString() }),
    ...(row.drill_error !== null && { last_drill_error: row.drill_error }),
    ...(backed_up?.last_backup_at !== undefined && { last_backup_at: backed_up.last_backup_at }),
    ...(backed_up?.wal_until !== undefined && {
      backup_lag_seconds: Math.max(0, Math.round((now.getTime() - Date.parse(backed_up.wal_until)) / 1000)),
    }),
  }
}

/** As a service shows them: while it runs, when all three are known, and not from long ago. */
export function metricsView(sample: Sampled | undefined, state: ServiceState, now: Date): Pick<Service, 'metrics'> {
  const runs = state === 'serving' || state === 'not_serving'
  if (sample === undefined || !runs || now.getTime() - sample.sampled_ms > sample_age_ms_max) return {}
  const { cpu_usage_millicores, memory_usage_bytes, disk_usage_bytes } = sample.metrics
  if (cpu_usage_millicores === undefined || memory_usage_bytes === undefined || disk_usage_bytes === undefined)
    return {}
  return {
    metrics: {
      memory_mb: Math.round(memory_usage_bytes / mib),
      milli_cpu: Math.round(cpu_usage_millicores),
      storage_mb: Math.round(disk_usage_bytes / mib),
    },
  }
}
