// A service as a caller sees it, with what it uses right now.
import type { ServiceNode } from '#contract/replica-set.ts'
import type { Service } from '#contract/service.ts'
import type { Size } from '#contract/size.ts'
import { diskGbsOf } from '#providers/postgres/size.ts'
import type { Provider, ReplicaLag, ServiceMetrics } from '#providers/provider.ts'
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
    const sample = sampler.latest(row.service_id)
    const view = serviceView(row, { now, ...volume })
    return {
      ...view,
      ...usageView(sample, row, now),
      read_replica_sets: view.read_replica_sets.map((set) => ({ ...set, ...membersView(sample, set.id, now) })),
      protection: protectionView(row, backedUp(row.service_id), now),
    }
  }
}

type Restorable = Pick<
  ServiceRow,
  'restorable_from' | 'restorable_until' | 'last_snapshot_at' | 'proven_restorable_at' | 'drill_error'
>

/** Pure. */
function protectionView(
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
    ...(backed_up?.problem !== undefined && { backup_problem: backed_up.problem }),
  }
}

type Running = Pick<ServiceRow, 'state' | 'sync_replica_count'>
type Usage = Pick<Service, 'running_since' | 'metrics' | 'replicas'>

/** What is known of the present of a service that runs. Pure. */
export function usageView(sample: Sampled | undefined, { state, sync_replica_count }: Running, now: Date): Usage {
  if (!isPresent(sample, now) || (state !== 'serving' && state !== 'not_serving')) return {}
  const { metrics } = sample
  return { ...runningView(metrics, now), ...metricsView(metrics), ...replicasView(metrics, sync_replica_count > 0) }
}

/** A tenant may have a hand in the moment: what cannot be one is not shown. */
function runningView({ running_since_ms: since = Number.NaN }: ServiceMetrics, now: Date): Usage {
  return since > 0 && since <= now.getTime() ? { running_since: new Date(since).toISOString() } : {}
}

/** When all three are known. */
function metricsView({ cpu_usage_millicores, memory_usage_bytes, disk_usage_bytes }: ServiceMetrics): Usage {
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

/** The primary first. Where no standby of its own is known, there is nothing to tell. */
function replicasView({ primary_node, replica_lags = [] }: ServiceMetrics, may_be_sync: boolean): Usage {
  const standbys = replica_lags.filter(({ replica_set_id }) => replica_set_id === undefined)
  if (primary_node === undefined || standbys.length === 0) return {}
  return { replicas: [{ node: primary_node, role: 'primary' }, ...nodeViews(standbys, may_be_sync)] }
}

export function membersView(sample: Sampled | undefined, id: string, now: Date): { members?: ServiceNode[] } {
  if (!isPresent(sample, now)) return {}
  const nodes = (sample.metrics.replica_lags ?? []).filter(({ replica_set_id }) => replica_set_id === id)
  return nodes.length === 0 ? {} : { members: nodeViews(nodes, false) }
}

/** `may_be_sync`: for a region that does not tell, all standbys are candidates or none is. */
const nodeViews = (lags: readonly ReplicaLag[], may_be_sync: boolean): ServiceNode[] =>
  lags.map((lag) => nodeView(lag, may_be_sync)).toSorted((a, b) => a.node - b.node)

function nodeView({ node, bytes, seconds, state, is_sync }: ReplicaLag, may_be_sync: boolean): ServiceNode {
  return {
    node,
    role: (is_sync ?? may_be_sync) ? 'sync' : 'async',
    ...(state !== undefined && { state }),
    lag_bytes: Math.max(0, Math.round(bytes)),
    lag_seconds: Math.round(seconds * 1000) / 1000,
  }
}

function isPresent(sample: Sampled | undefined, now: Date): sample is Sampled {
  return sample !== undefined && now.getTime() - sample.sampled_ms <= sample_age_ms_max
}
