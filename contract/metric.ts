// Metrics of a service over time: which series there are, and one of them in buckets.
import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Timestamp } from './schema.ts'

export const metric_series = {
  cpu_usage_millicores: { unit: 'millicores', description: 'Processor time of all processes of the service.' },
  memory_usage_bytes: { unit: 'bytes', description: 'Memory in use by all processes of the service.' },
  disk_usage_bytes: { unit: 'bytes', description: 'Data and write-ahead log on the disk.' },
  disk_archive_bytes: { unit: 'bytes', description: 'Archived write-ahead log on the disk.' },
  disk_quota_bytes: { unit: 'bytes', description: 'What the two may take together; without a quota there is none.' },
  connections: { unit: 'connections', description: 'Open sessions of clients.' },
  transactions_per_second: { unit: 'transactions per second', description: 'Committed and rolled back.' },
  replication_lag_bytes: {
    unit: 'bytes',
    description: 'Write-ahead log that the replica farthest behind has yet to replay.',
  },
  cache_hit_ratio: { unit: 'ratio', description: 'Blocks found in shared memory, of all that were asked for.' },
} as const
export type MetricName = keyof typeof metric_series

// Object.keys forgets the names that the object's type has.
export const metric_names = Object.keys(metric_series) as MetricName[]

export const metric_functions = ['avg', 'min', 'max', 'last'] as const
export type MetricFunction = (typeof metric_functions)[number]

export const metric_points_max = 5_000

const AvailableSeries = Type.Object(
  { name: Type.String(), unit: Type.String(), description: Type.String(), labels: Type.Array(Type.String()) },
  { $id: 'AvailableSeries' },
)

const MetricSeries = Type.Object(
  {
    labels: Type.Object({ role: Type.String() }),
    data: Type.Array(
      Type.Object(
        { time: Timestamp, value: Type.Union([Type.Number(), Type.Null()]) },
        { description: 'One a bucket.' },
      ),
    ),
  },
  { $id: 'MetricSeries' },
)

const SeriesInput = Type.Object({
  name: Type.Enum(metric_names),
  from: Type.String({ format: 'date-time', maxLength: 64, description: 'RFC 3339; 30 days are kept.' }),
  to: Type.String({ format: 'date-time', maxLength: 64, description: 'RFC 3339; not part of the answer itself.' }),
  bucket_seconds: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 2_592_000, description: 'By default some hundred buckets in all.' }),
  ),
  fn: Type.Optional(
    Type.Enum([...metric_functions], { description: 'How values become one a bucket; avg by default.' }),
  ),
  filters: Type.Optional(
    Type.Object(
      { role: Type.Optional(Type.String({ maxLength: 64 })) },
      { description: 'Series with this label only.' },
    ),
  ),
})
export type SeriesInput = Static<typeof SeriesInput>

const metrics = '/projects/{project_id}/services/{service_id}/metrics'
const tag = 'Logs and metrics'

export const metric_endpoints = {
  listMetricSeries: endpoint({
    method: 'GET',
    path: `${metrics}/available-series`,
    summary: 'Which metrics of a service there are',
    tag,
    access: 'viewer',
    success: 200,
    output: Type.Array(AvailableSeries),
  }),
  getMetricSeries: endpoint({
    method: 'POST',
    path: `${metrics}/series`,
    summary: 'One metric of a service over time',
    description: 'Every ten seconds for an hour, every minute for a day, every quarter of an hour for 30 days.',
    tag,
    access: 'viewer',
    body: SeriesInput,
    success: 200,
    output: Type.Array(MetricSeries),
  }),
}
