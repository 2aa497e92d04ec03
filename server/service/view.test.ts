// What a service shows of its last sample.
import { expect, test } from 'vitest'
import { membersView, usageView } from './view.ts'

const now_ms = Date.UTC(2026, 10, 15, 12)
const serving = { state: 'serving', sync_replica_count: 1 } as const
const stopped = { ...serving, state: 'stopped' } as const

test('a service shows whole numbers, while it runs and the sample is young', () => {
  const metrics = { cpu_usage_millicores: 12.6, memory_usage_bytes: 41.4 * 1024 ** 2, disk_usage_bytes: 2 ** 30 }
  const sample = { sampled_ms: now_ms - 15_000, metrics }
  const now = new Date(now_ms)
  expect(usageView(sample, serving, now)).toEqual({
    metrics: { milli_cpu: 13, memory_mb: 41, storage_mb: 1024 },
  })
  expect(usageView(sample, stopped, now)).toEqual({})
  expect(usageView({ ...sample, sampled_ms: now_ms - 15_001 }, serving, now)).toEqual({})
  expect(usageView({ ...sample, metrics: { memory_usage_bytes: 1 } }, serving, now)).toEqual({})
  expect(usageView(undefined, serving, now)).toEqual({})
})

test.each([
  [now_ms - 5_000, serving, now_ms, { running_since: '2026-11-15T11:59:55.000Z' }],
  [now_ms - 5_000, stopped, now_ms, {}],
  [now_ms - 5_000, serving, now_ms - 15_001, {}],
  [now_ms + 1, serving, now_ms, {}],
  [-1, serving, now_ms, {}],
  [undefined, serving, now_ms, {}],
] as const)(
  'a service shows since when it runs, as long as that is a moment of the past (%#)',
  (since, row, at, shown) => {
    const sample = { sampled_ms: at, metrics: since === undefined ? {} : { running_since_ms: since } }
    expect(usageView(sample, row, new Date(now_ms))).toEqual(shown)
  },
)

test('a service shows its primary, then its standbys, and a set its nodes', () => {
  const replica_lags = [
    { node: 2, bytes: 40.2, seconds: 0.00049, state: 'catchup', is_sync: false },
    { replica_set_id: 'r1', node: 0, bytes: 7, seconds: 1 },
    { node: 0, bytes: 0, seconds: 0 },
  ]
  const now = new Date(now_ms)
  const sample = { sampled_ms: now_ms, metrics: { primary_node: 1, replica_lags } }
  expect(usageView(sample, serving, now)).toEqual({
    replicas: [
      { node: 1, role: 'primary' },
      { node: 0, role: 'sync', lag_bytes: 0, lag_seconds: 0 },
      { node: 2, role: 'async', state: 'catchup', lag_bytes: 40, lag_seconds: 0 },
    ],
  })
  expect(membersView(sample, 'r1', now)).toEqual({
    members: [{ node: 0, role: 'async', lag_bytes: 7, lag_seconds: 1 }],
  })
  expect(membersView(sample, 'r2', now)).toEqual({})
  expect(usageView(sample, stopped, now)).toEqual({})
  expect(usageView({ ...sample, sampled_ms: 0 }, serving, now)).toEqual({})
  expect(usageView({ ...sample, metrics: { primary_node: 0 } }, serving, now)).toEqual({})
})
