// A series as a request describes it: which buckets, from which tier, and one value in each. Pure; the clock comes in.
import {
  metric_function_default,
  metric_functions,
  type MetricFunction,
  type MetricName,
  type MetricRole,
  metric_points_max,
  metric_series,
  type SeriesInput,
} from '#contract/metric.ts'
import type { Problem } from '#contract/problem.ts'
import { parseMoment } from '../moment.ts'
import { type Tier, tierFor } from './tier.ts'

/** Whose a series is. What a service uses is measured of all its nodes together, and told of the primary. */
export function roleOf(name: MetricName): MetricRole {
  return name === 'replication_lag_bytes' ? 'replica' : 'primary'
}

type SeriesPlan = { from_ms: number; to_ms: number; bucket_ms: number; fn: MetricFunction; tier: Tier }

const points_wanted = 400
const nice_bucket_seconds = [10, 60, 300, 900, 3600, 6 * 3600, 24 * 3600] as const

export function parseSeriesInput(input: Partial<SeriesInput>, now_ms: number, problems: Problem[]): SeriesPlan {
  const timeOf = (moment?: string) => (moment === undefined ? Number.NaN : Date.parse(parseMoment(moment)))
  const [from_ms, to_ms] = [timeOf(input.from), timeOf(input.to)]
  if (!(from_ms < to_ms)) problems.push({ path: '/to', message: 'must be later than /from' })
  const bucket_seconds = input.bucket_seconds ?? bucketFor(from_ms, to_ms, now_ms)
  const points = (to_ms - from_ms) / 1000 / bucket_seconds
  if (points > metric_points_max) {
    const limit = `at most ${metric_points_max} are answered, so choose larger ones`
    problems.push({ path: '/bucket_seconds', message: `makes ${Math.ceil(points)} buckets of this time; ${limit}` })
  }
  const tier = tierFor(from_ms, now_ms, bucket_seconds)
  return { from_ms, to_ms, bucket_ms: bucket_seconds * 1000, fn: parseFunction(input, problems), tier }
}

function parseFunction(
  { name, fn = metric_function_default }: Partial<SeriesInput>,
  problems: Problem[],
): MetricFunction {
  const known = metric_functions.find((one) => one === fn.toUpperCase())
  const possible: readonly MetricFunction[] = name === undefined ? metric_functions : metric_series[name].functions
  if (known !== undefined && possible.includes(known)) return known
  const message =
    known === undefined
      ? `must be one of ${metric_functions.join(', ')}, in any case`
      : `${known} makes no sense for the values of /name; those that do are ${possible.join(', ')}`
  problems.push({ path: '/fn', message })
  return metric_function_default
}

/** The smallest nice size that makes some hundred buckets, but not finer than the kept points of that time. */
function bucketFor(from_ms: number, to_ms: number, now_ms: number): number {
  const span_seconds = (to_ms - from_ms) / 1000
  const finest = tierFor(from_ms, now_ms, 0).bucket_seconds
  const nice = nice_bucket_seconds.find((seconds) => seconds >= finest && span_seconds / seconds <= points_wanted)
  return nice ?? nice_bucket_seconds[6]
}

type Point = { time_ms: number; value: number | null }

/** One point a bucket, in order. Stored points must be in order too. */
export function bucketsOf(plan: SeriesPlan, stored: readonly Point[]): { time: string; value: number | null }[] {
  const { bucket_ms, tier, fn } = plan
  const valueOf = valueBy(bucket_ms / 1000)[fn]
  const tier_ms = tier.bucket_seconds * 1000
  const first = Math.floor(plan.from_ms / bucket_ms) * bucket_ms
  const count = Math.max(0, Math.ceil((plan.to_ms - first) / bucket_ms))
  const values: number[][] = Array.from({ length: count }, () => [])
  for (const { time_ms, value } of stored) {
    if (value === null) continue
    // A stored point that is coarser than a bucket stands for all the buckets that it spans.
    const from = Math.max(0, Math.floor((time_ms - first) / bucket_ms))
    const to = tier_ms > bucket_ms ? Math.ceil((time_ms + tier_ms - first) / bucket_ms) : from + 1
    for (let at = from; at < Math.min(to, count); at += 1) values[at]?.push(value)
  }
  return values.map((inside, at) => ({
    time: new Date(first + at * bucket_ms).toISOString(),
    value: inside.length === 0 ? null : valueOf(inside),
  }))
}

type ValueOf = (values: readonly number[]) => number

/** RATE and INCREASE: of values a second, for which they are those of the counter behind them. */
const valueBy = (seconds: number): Record<MetricFunction, ValueOf> => ({
  AVG: averageOf,
  MIN: (values) => Math.min(...values),
  MAX: (values) => Math.max(...values),
  LAST: (values) => values.at(-1) ?? 0,
  SUM: sumOf,
  COUNT: (values) => values.length,
  RATE: averageOf,
  INCREASE: (values) => averageOf(values) * seconds,
  P50: (values) => percentileOf(values, 0.5),
  P90: (values) => percentileOf(values, 0.9),
  P99: (values) => percentileOf(values, 0.99),
})

const sumOf: ValueOf = (values) => values.reduce((sum, value) => sum + value, 0)
const averageOf: ValueOf = (values) => sumOf(values) / values.length

/** Between two values in proportion, as `percentile_cont` of PostgreSQL. */
function percentileOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  const place = share * (sorted.length - 1)
  const [below = 0, above = below] = sorted.slice(Math.floor(place))
  return below + (above - below) * (place - Math.floor(place))
}
