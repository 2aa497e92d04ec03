// Table tests of the metrics that Pods and kubelets tell: what is read of them, and what follows.
import { expect, test } from 'vitest'
import { samplesOf, sumOf } from './exposition.ts'
import { activityOf, countedOf, kubelet_names, primary_names, usageOf, usedOf } from './values.ts'

const text = `# HELP cnpg_backends_total Number of backends
# TYPE cnpg_backends_total gauge
cnpg_backends_total{application_name="a \\"b\\"",datname="tsdb",state="idle",usename="tsdbadmin"} 2
cnpg_backends_total{application_name="",datname="postgres",state="active",usename="postgres"} 1
cnpg_pg_stat_database_xact_commit{datname="tsdb"} 100
cnpg_pg_stat_database_xact_rollback{datname="tsdb"} 20
cnpg_pg_stat_database_blks_hit{datname="tsdb"} 90
cnpg_pg_stat_database_blks_read{datname="tsdb"} 10
cnpg_pg_database_size_bytes{datname="tsdb"} 8e+06
cnpg_collector_pg_wal{value="size"} 1.6777216e+07
cnpg_collector_pg_wal{value="count"} 1
cnpg_pg_stat_replication_replay_diff_bytes{application_name="s-abc-2"} 300
cnpg_pg_stat_replication_replay_lag_seconds{application_name="s-abc-2"} 0.5
cnpg_pg_stat_replication_replay_diff_bytes{application_name="r-def-1"} 700
cnpg_pg_stat_replication_replay_diff_bytes{application_name="pg_basebackup"} 9
cnpg_pg_postmaster_start_time 1.763456789123e+09
other_metric 5
cnpg_backends_total NaN
`

test('only the wanted lines are read, with their labels', () => {
  const samples = samplesOf(text, new Set(['cnpg_backends_total', 'cnpg_collector_pg_wal']))
  expect(samples).toHaveLength(4)
  expect(samples[0]?.labels['application_name']).toBe('a "b"')
  expect(sumOf(samples, 'cnpg_backends_total')).toBe(3)
  expect(sumOf(samples, 'cnpg_collector_pg_wal', { value: 'count' })).toBe(1)
  expect(sumOf(samples, 'other_metric')).toBeUndefined()
})

test('what a primary tells becomes the metrics of its service', () => {
  const samples = samplesOf(text, primary_names)
  const now = countedOf(samples, 'a', 10_000)
  expect(now).toEqual({ pod: 'a', at_ms: 10_000, transactions: 120, hits: 90, reads: 10 })
  expect(activityOf(samples, now, { pod: 'a', at_ms: 0, transactions: 20, hits: 15, reads: 5 })).toEqual({
    running_since_ms: 1_763_456_789_123,
    connections: 3,
    disk_usage_bytes: 8_000_000 + 16_777_216,
    transactions_per_second: 10,
    cache_hit_ratio: 75 / 80,
    replica_lags: [
      { node: 1, bytes: 300, seconds: 0.5 },
      { replica_set_id: 'def', node: 0, bytes: 700, seconds: 0 },
    ],
    replication_lag_bytes: 700,
  })
})

test('without a count before there is no rate, nor after one that went back or is of another primary', () => {
  const now = { pod: 'a', at_ms: 10, transactions: 5, hits: 0, reads: 0 }
  expect(activityOf([], now, undefined)).toEqual({})
  expect(activityOf([], now, { ...now, at_ms: 0, transactions: 6 })).toEqual({})
  expect(activityOf([], now, { ...now, pod: 'b', at_ms: 0, transactions: 1 })).toEqual({})
  const used = { at_ms: 2000, cpu_seconds: 3, memory_bytes: 7 }
  expect(usageOf(used, undefined)).toEqual({ memory_usage_bytes: 7 })
  expect(usageOf(used, { ...used, at_ms: 0, cpu_seconds: 2 })).toEqual({
    memory_usage_bytes: 7,
    cpu_usage_millicores: 500,
  })
})

test('a long line of what is no label is read in no time', () => {
  const text = `pod_memory_working_set_bytes{${'a'.repeat(1_000_000)}} 5\n`
  expect(samplesOf(text, kubelet_names)).toEqual([{ name: 'pod_memory_working_set_bytes', labels: {}, value: 5 }])
})

test('what a kubelet tells holds for the moment at which it was measured', () => {
  const told = (memory: number, cpu: number, at: number) =>
    samplesOf(
      `pod_memory_working_set_bytes{pod="s-abc-1"} ${memory} ${at}\npod_cpu_usage_seconds_total{pod="s-abc-1"} ${cpu} ${at}\n`,
      kubelet_names,
    )
  expect(usedOf(told(0, 0, 1_000), 9)).toBeUndefined()
  const first = usedOf(told(7, 1, 2_000), 9)
  const again = usedOf(told(7, 1, 2_000), 99)
  const later = usedOf(told(8, 6, 12_000), 999)
  if (!first || !again || !later) throw new Error('all were measured')
  expect(usageOf(again, first)).toEqual({ memory_usage_bytes: 7 })
  expect(usageOf(later, again)).toEqual({ memory_usage_bytes: 8, cpu_usage_millicores: 500 })
  expect(usedOf(samplesOf('pod_memory_working_set_bytes 5\n', kubelet_names), 9)?.at_ms).toBe(9)
})
