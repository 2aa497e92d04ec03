// Metrics of a service over time: which series there are, and one of them in buckets.
import type { Static } from 'typebox'
import { endpoint } from './endpoint.ts'
import { choice, input, integer, moment, momentInput, text } from './schema.ts'
import { Type } from './type.ts'

/** How the values of a bucket become one: written in any case. `COUNT`: how many values are kept of it. */
export const metric_functions = [
  'AVG',
  'MIN',
  'MAX',
  'LAST',
  'SUM',
  'COUNT',
  'RATE',
  'INCREASE',
  'P50',
  'P90',
  'P99',
] as const
export const metric_function_default = 'AVG'
export type MetricFunction = (typeof metric_functions)[number]

const of_all = ['AVG', 'MIN', 'MAX', 'LAST', 'COUNT', 'P50', 'P90', 'P99'] as const
/** Amounts can be added up, ratios cannot. */
const of_amounts = [...of_all, 'SUM'] as const
/** There is a counter behind them, which grows. */
const of_rates = [...of_all, 'RATE', 'INCREASE'] as const

type Series = { unit: string; description: string; functions: readonly MetricFunction[] }

export const metric_series = {
  cpu_usage_millicores: {
    unit: 'millicores',
    description: 'Processor time of all processes of the service.',
    functions: of_amounts,
  },
  memory_usage_bytes: {
    unit: 'bytes',
    description: 'Memory in use by all processes of the service.',
    functions: of_amounts,
  },
  disk_usage_bytes: { unit: 'bytes', description: 'Data and write-ahead log on the disk.', functions: of_amounts },
  disk_archive_bytes: { unit: 'bytes', description: 'Archived write-ahead log on the disk.', functions: of_amounts },
  disk_quota_bytes: {
    unit: 'bytes',
    description: 'What the two may take together; without a quota there is none.',
    functions: of_amounts,
  },
  connections: { unit: 'connections', description: 'Open sessions of clients.', functions: of_amounts },
  transactions_per_second: {
    unit: 'transactions per second',
    description: 'Committed and rolled back.',
    functions: of_rates,
  },
  replication_lag_bytes: {
    unit: 'bytes',
    description: 'Write-ahead log that the replica farthest behind has yet to replay.',
    functions: of_amounts,
  },
  cache_hit_ratio: {
    unit: 'ratio',
    description: 'Blocks found in shared memory, of all that were read.',
    functions: of_all,
  },
} as const satisfies Record<string, Series>
export type MetricName = keyof typeof metric_series

// Object.keys forgets the names that the object's type has.
export const metric_names = Object.keys(metric_series) as MetricName[]

/** What it is called at `/metrics`, where values are in base units: cores, not thousandths of them. */
export const exportedName = (name: MetricName): string =>
  `howdah_service_${name === 'cpu_usage_millicores' ? 'cpu_cores' : name.replace('_usage', '')}`

const metric_roles = ['primary', 'replica'] as const
export type MetricRole = (typeof metric_roles)[number]

export const metric_points_max = 5_000

export const metric_labels = ['role'] as const

/** Part of `/capabilities`. */
export const MetricDescription = Type.Object(
  {
    name: choice(metric_names, 'What to send as `name`.', 'connections'),
    unit: text('What its values count.', 'connections'),
    description: text('What it measures.', 'Open sessions of clients.'),
    labels: Type.Array(choice(metric_labels, 'A label.', 'role'), { description: 'What tells its series apart.' }),
    functions: Type.Array(choice(metric_functions, 'A function.', 'MAX'), {
      description: 'What `fn` may be for it.',
    }),
  },
  { $id: 'MetricDescription', description: 'A metric that is measured.' },
)

const MetricSeries = Type.Object(
  {
    labels: Type.Object(
      { role: choice(metric_roles, 'Which nodes of the service it is of.', 'primary') },
      { description: 'What tells it from other series of the same metric.' },
    ),
    data: Type.Array(
      Type.Object({
        time: moment('The beginning of the bucket.'),
        value: Type.Union([Type.Number(), Type.Null()], { description: 'Null: nothing was measured.', examples: [12] }),
      }),
      { description: 'One point a bucket, in order.' },
    ),
  },
  { $id: 'MetricSeries', description: 'A metric over time.' },
)

const SeriesInput = input(
  {
    name: choice(metric_names, 'Which metric.', 'connections'),
    from: momentInput('Where it begins; 30 days are kept.', '2026-11-15T11:00:00Z'),
    to: momentInput('Where it ends; not part of the answer itself.'),
    bucket_seconds: Type.Optional(
      integer('By default some hundred buckets in all.', 60, { minimum: 1, maximum: 2_592_000 }),
    ),
    fn: Type.Optional(
      text(
        `How the kept values become one a bucket: ${metric_functions.join(', ')}, in any case; ${metric_function_default} by default. Those that make no sense for a metric are refused; \`/capabilities\` has the others.`,
        'MAX',
        { maxLength: 16, default: metric_function_default },
      ),
    ),
    filters: Type.Optional(
      Type.Array(
        input(
          {
            key: choice(metric_labels, 'The label.', 'role'),
            value: text('Its value, such as `primary` or `replica` for `role`.', 'primary', { maxLength: 64 }),
          },
          { key: 'role', value: 'primary' },
        ),
        { maxItems: 10, description: 'Series that have all of these labels only.' },
      ),
    ),
  },
  { name: 'connections', from: '2026-11-15T11:00:00Z', to: '2026-11-15T12:00:00Z', bucket_seconds: 60, fn: 'MAX' },
)
export type SeriesInput = Static<typeof SeriesInput>

const metrics = '/projects/{project_id}/services/{service_id}/metrics'
const tag = 'Logs and metrics'

export const metric_endpoints = {
  listMetricSeries: endpoint({
    method: 'GET',
    path: `${metrics}/available-series`,
    summary: 'The names of the metrics of a service',
    description: 'Their units, labels and descriptions are in `/capabilities`.',
    tag,
    access: 'viewer',
    success: 200,
    output: Type.Array(choice(metric_names, 'What to send as `name`.', 'connections')),
  }),
  getMetricSeries: endpoint({
    method: 'POST',
    path: `${metrics}/series`,
    summary: 'One metric of a service over time',
    description: 'Every ten seconds for an hour, every minute for a day, every quarter of an hour for 30 days.',
    tag,
    access: 'viewer',
    effect: 'read',
    body: SeriesInput,
    success: 200,
    output: Type.Array(MetricSeries),
  }),
}
