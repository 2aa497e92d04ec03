// What a service uses, from what its Pods and their nodes tell. Pure. Rates need an earlier count.
import type { ReplicaLag, ServiceMetrics } from '../../provider.ts'
import { type Sample, sumOf } from './exposition.ts'

/** `pod`: which one counted. */
export type Counted = { pod: string; at_ms: number; transactions: number; hits: number; reads: number }
export type Used = { at_ms: number; cpu_seconds: number; memory_bytes: number }

/** Of a primary. */
export const primary_names = new Set([
  'cnpg_backends_total',
  'cnpg_pg_stat_database_xact_commit',
  'cnpg_pg_stat_database_xact_rollback',
  'cnpg_pg_stat_database_blks_hit',
  'cnpg_pg_stat_database_blks_read',
  'cnpg_pg_database_size_bytes',
  'cnpg_collector_pg_wal',
  'cnpg_pg_stat_replication_replay_diff_bytes',
  'cnpg_pg_stat_replication_replay_lag_seconds',
  'cnpg_pg_postmaster_start_time',
])

/** Of a node's kubelet. */
export const kubelet_names = new Set(['pod_cpu_usage_seconds_total', 'pod_memory_working_set_bytes'])

export function countedOf(samples: readonly Sample[], pod: string, at_ms: number): Counted {
  const sum = (name: string) => sumOf(samples, `cnpg_pg_stat_database_${name}`) ?? 0
  return {
    pod,
    at_ms,
    transactions: sum('xact_commit') + sum('xact_rollback'),
    hits: sum('blks_hit'),
    reads: sum('blks_read'),
  }
}

export function activityOf(samples: readonly Sample[], now: Counted, before: Counted | undefined): ServiceMetrics {
  const connections = sumOf(samples, 'cnpg_backends_total')
  const data = sumOf(samples, 'cnpg_pg_database_size_bytes')
  const wal = sumOf(samples, 'cnpg_collector_pg_wal', { value: 'size' })
  const started_seconds = sumOf(samples, 'cnpg_pg_postmaster_start_time')
  const lags = lagsOf(samples)
  return {
    ...(started_seconds !== undefined && { running_since_ms: Math.round(started_seconds * 1000) }),
    ...(connections !== undefined && { connections }),
    ...(data !== undefined && { disk_usage_bytes: data + (wal ?? 0) }),
    ...ratesOf(now, before),
    ...(lags.length > 0 && { replica_lags: lags, replication_lag_bytes: Math.max(...lags.map(({ bytes }) => bytes)) }),
  }
}

/** A counter that went back was begun anew, and that of another primary counts other things. */
function ratesOf(now: Counted, before: Counted | undefined): ServiceMetrics {
  if (before?.pod !== now.pod || now.transactions < before.transactions || now.at_ms <= before.at_ms) return {}
  const blocks = now.hits - before.hits + now.reads - before.reads
  return {
    transactions_per_second: (now.transactions - before.transactions) / ((now.at_ms - before.at_ms) / 1000),
    ...(blocks > 0 && { cache_hit_ratio: (now.hits - before.hits) / blocks }),
  }
}

/** A standby is known by the name of its Pod: `s-<service>-2`, or `r-<set>-1`. */
function lagsOf(samples: readonly Sample[]): ReplicaLag[] {
  return samples
    .filter(({ name }) => name === 'cnpg_pg_stat_replication_replay_diff_bytes')
    .flatMap(({ labels, value: bytes }) => {
      const application_name = labels['application_name'] ?? ''
      const [, kind, id = '', ordinal] = /^([sr])-([a-z0-9]+)-(\d+)$/.exec(application_name) ?? []
      if (kind === undefined) return []
      const seconds = sumOf(samples, 'cnpg_pg_stat_replication_replay_lag_seconds', { application_name }) ?? 0
      return [
        {
          ...(kind === 'r' && { replica_set_id: id }),
          node: Number(ordinal) - 1,
          bytes,
          seconds: Math.max(0, seconds),
        },
      ]
    })
}

/** A kubelet measures every ten seconds or so, and says 0 of a Pod until then: undefined. */
export function usedOf(samples: readonly Sample[], now_ms: number): Used | undefined {
  const memory_bytes = sumOf(samples, 'pod_memory_working_set_bytes') ?? 0
  if (memory_bytes === 0) return undefined
  const told = samples.flatMap(({ at_ms }) => at_ms ?? [])
  const at_ms = told.length === 0 ? now_ms : Math.max(...told)
  return { at_ms, cpu_seconds: sumOf(samples, 'pod_cpu_usage_seconds_total') ?? 0, memory_bytes }
}

/** A count that was not measured anew gives no rate. */
export function usageOf(now: Used, before: Used | undefined): ServiceMetrics {
  const { memory_bytes: memory_usage_bytes } = now
  if (before === undefined || now.at_ms <= before.at_ms || now.cpu_seconds < before.cpu_seconds)
    return { memory_usage_bytes }
  const cpu_usage_millicores = ((now.cpu_seconds - before.cpu_seconds) * 1e6) / (now.at_ms - before.at_ms)
  return { memory_usage_bytes, cpu_usage_millicores }
}
