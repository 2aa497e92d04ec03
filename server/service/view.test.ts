// What a service shows of its last sample.
import { expect, test } from 'vitest'
import { metricsView } from './view.ts'

const now_ms = Date.UTC(2026, 10, 15, 12)

test('a service shows whole numbers, while it runs and the sample is young', () => {
  const metrics = { cpu_usage_millicores: 12.6, memory_usage_bytes: 41.4 * 1024 ** 2, disk_usage_bytes: 2 ** 30 }
  const sample = { sampled_ms: now_ms - 15_000, metrics }
  const now = new Date(now_ms)
  expect(metricsView(sample, 'serving', now)).toEqual({
    metrics: { milli_cpu: 13, memory_mb: 41, storage_mb: 1024 },
  })
  expect(metricsView(sample, 'stopped', now)).toEqual({})
  expect(metricsView({ ...sample, sampled_ms: now_ms - 15_001 }, 'serving', now)).toEqual({})
  expect(metricsView({ ...sample, metrics: { memory_usage_bytes: 1 } }, 'serving', now)).toEqual({})
  expect(metricsView(undefined, 'serving', now)).toEqual({})
})
