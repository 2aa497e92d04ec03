// Buckets of a series, from whatever was stored.
import { describe, expect, test } from 'vitest'
import { metric_functions, metric_series, type MetricFunction, type MetricName } from '#contract/metric.ts'
import type { Problem } from '#contract/problem.ts'
import { bucketsOf, parseSeriesInput } from './rules.ts'
import { tierFor, tiers } from './tier.ts'

const now_ms = Date.UTC(2026, 10, 15, 12)
const ago = (seconds: number) => new Date(now_ms - seconds * 1000).toISOString()

function planOf(
  from_seconds: number,
  to_seconds: number,
  more: { name?: MetricName; bucket_seconds?: number; fn?: string } = {},
) {
  const problems: Problem[] = []
  const plan = parseSeriesInput(
    { name: 'connections', from: ago(from_seconds), to: ago(to_seconds), ...more },
    now_ms,
    problems,
  )
  return { plan, problems }
}

test.each([
  [600, 10, 10],
  [600, 60, 60],
  [600, 59, 10],
  [7_200, 10, 60],
  [7_200, 900, 900],
  [172_800, 60, 900],
  [99_999_999, 60, 900],
])('from %i s ago in buckets of %i s, points of %i s are read', (from_seconds, bucket_seconds, expected) => {
  expect(tierFor(now_ms - from_seconds * 1000, now_ms, bucket_seconds).bucket_seconds).toBe(expected)
})

test.each([
  [600, 10],
  [3_600, 10],
  [7_200, 60],
  [86_400, 300],
  [7 * 86_400, 3_600],
  [30 * 86_400, 21_600],
])('the last %i s come in buckets of %i s when nobody says', (from_seconds, bucket_seconds) => {
  expect(planOf(from_seconds, 0).plan.bucket_ms).toBe(bucket_seconds * 1000)
})

test('a time is given in any zone, as the schema has them', () => {
  const [from, to] = ['2026-11-15T16:30:00+05', '2026-11-15T17:30:00+0530']
  const { from_ms, to_ms } = parseSeriesInput({ name: 'connections', from, to }, now_ms, [])
  expect([from_ms, to_ms]).toEqual([now_ms - 1_800_000, now_ms])
})

describe('one value a bucket', () => {
  const { plan } = planOf(60, 0, { bucket_seconds: 20 })
  const stored = [1, 3, 5, 7].map((value, at) => ({ time_ms: now_ms - 60_000 + at * 10_000, value }))

  test('the average, and null where nothing is', () => {
    expect(bucketsOf(plan, stored).map(({ value }) => value)).toEqual([2, 6, null])
  })

  test.each([
    ['AVG', [2, 6, null]],
    ['MIN', [1, 5, null]],
    ['MAX', [3, 7, null]],
    ['LAST', [3, 7, null]],
    ['SUM', [4, 12, null]],
    ['COUNT', [2, 2, null]],
    ['RATE', [2, 6, null]],
    ['INCREASE', [40, 120, null]],
    ['P50', [2, 6, null]],
    ['P90', [2.8, 6.8, null]],
    ['P99', [2.98, 6.98, null]],
  ] as const)('%s', (fn, values) => {
    const found = bucketsOf({ ...plan, fn }, stored).map(({ value }) => value)
    expect(found.map((value) => value && Number(value.toFixed(9)))).toEqual(values)
  })

  test('a stored point that is coarser than the buckets stands for all that it spans', () => {
    const fine = { ...plan, bucket_ms: 30_000, tier: tiers[1] }
    const points = [{ time_ms: now_ms - 60_000, value: 4 }]
    expect(bucketsOf(fine, points).map(({ value }) => value)).toEqual([4, 4])
  })

  test('buckets begin at whole multiples, whenever the question does', () => {
    const { plan } = planOf(65, 0, { bucket_seconds: 60 })
    expect(bucketsOf(plan, []).map(({ time }) => time)).toEqual([ago(120), ago(60)])
  })
})

test('a function is known in any case, and AVG when there is none', () => {
  for (const fn of ['P99', 'p99']) expect(planOf(60, 0, { fn })).toMatchObject({ plan: { fn: 'P99' }, problems: [] })
  for (const fn of ['last', 'Last', 'LAST']) expect(planOf(60, 0, { fn }).plan.fn).toBe('LAST')
  expect(planOf(60, 0).plan.fn).toBe('AVG')
})

test('a function that is none, or makes no sense for the metric, is refused with those that do', () => {
  const [unknown] = planOf(60, 0, { fn: 'median' }).problems
  expect(unknown).toEqual({ path: '/fn', message: expect.stringContaining('AVG, MIN, MAX, LAST, SUM, COUNT, RATE') })
  const refused = (name: MetricName): MetricFunction[] =>
    metric_functions.filter((fn) => planOf(60, 0, { name, fn }).problems.length > 0)
  expect(refused('connections')).toEqual(['RATE', 'INCREASE'])
  expect(refused('cache_hit_ratio')).toEqual(['SUM', 'RATE', 'INCREASE'])
  expect(refused('transactions_per_second')).toEqual(['SUM'])
  const [senseless] = planOf(60, 0, { name: 'connections', fn: 'rate' }).problems
  expect(senseless?.message).toContain(metric_series.connections.functions.join(', '))
})

test('too many buckets are refused with a way out', () => {
  expect(planOf(86_400, 0, { bucket_seconds: 10 }).problems[0]?.message).toContain('choose larger ones')
  expect(planOf(0, 60).problems).toEqual([{ path: '/to', message: 'must be later than /from' }])
})
