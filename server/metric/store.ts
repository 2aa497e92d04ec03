// The history of metrics in the metadata store: one statement a function, each for all services at once.
import { type MetricFunction, type MetricName, metric_names } from '#contract/metric.ts'
import type { ServiceMetrics } from '#providers/provider.ts'
import type { Sql } from '../store/db.ts'
import type { Tier } from './tier.ts'

export type MeasuredRow = {
  service_id: string
  project_id: string
  region_code: string
  has_standbys: boolean
}

/** Services that may have processes. */
export async function listMeasured(sql: Sql): Promise<MeasuredRow[]> {
  return sql.query<MeasuredRow>(
    `select service_id, project_id, region_code,
            replica_count > 0 or service_id in (select service_id from replica_sets) as has_standbys
     from services where state in ('serving', 'not_serving')`,
  )
}

export type SampleRow = { service_id: string; metrics: ServiceMetrics }

/** Values that another server has written into a bucket stay; missing ones are added. */
export async function insertSamples(sql: Sql, samples: readonly SampleRow[], tier: Tier): Promise<void> {
  const columns = metric_names.map((name) => samples.map(({ metrics }) => metrics[name] ?? null))
  const completed = metric_names
    .map((name) => `${name} = coalesce(service_metrics.${name}, excluded.${name})`)
    .join(', ')
  await sql.query(
    `insert into service_metrics (service_id, bucket_seconds, time, ${metric_names.join(', ')})
     select service_id, $2::int, date_bin(make_interval(secs => $2::int), now(), 'epoch'), ${metric_names.join(', ')}
     from unnest($1::text[], ${metric_names.map((_, at) => `$${at + 3}::float8[]`).join(', ')})
       as samples (service_id, ${metric_names.join(', ')})
     on conflict (service_id, bucket_seconds, time) do update set ${completed}`,
    [samples.map(({ service_id }) => service_id), tier.bucket_seconds, ...columns],
  )
}

/** What a bucket knows best of a metric. One with a single value has no other. */
function columnFor(name: MetricName, fn: MetricFunction): string {
  return fn === 'min' || fn === 'max' ? `coalesce(${name}_${fn}, ${name})` : name
}

/** Makes the coarser buckets that the last ones of the finer tier belong to, again and again until they are complete. */
export async function rollUp(sql: Sql, finer: Tier, coarser: Tier): Promise<void> {
  const columns = metric_names.flatMap((name) => [name, `${name}_min`, `${name}_max`])
  const values = metric_names.flatMap((name) => [
    `avg(${name})`,
    `min(${columnFor(name, 'min')})`,
    `max(${columnFor(name, 'max')})`,
  ])
  const replaced = columns.map((column) => `${column} = excluded.${column}`).join(', ')
  await sql.query(
    `insert into service_metrics (service_id, bucket_seconds, time, ${columns.join(', ')})
     select service_id, $2::int, date_bin(make_interval(secs => $2::int), time, 'epoch') as bucket, ${values.join(', ')}
     from service_metrics
     where bucket_seconds = $1::int and time >= date_bin(make_interval(secs => $2::int), now() - make_interval(secs => 2 * $2::int), 'epoch')
     group by service_id, bucket
     on conflict (service_id, bucket_seconds, time) do update set ${replaced}`,
    [finer.bucket_seconds, coarser.bucket_seconds],
  )
}

export async function removeExpired(sql: Sql, { bucket_seconds, kept_seconds }: Tier): Promise<void> {
  await sql.query(
    `delete from service_metrics where bucket_seconds = $1 and time < now() - make_interval(secs => $2::int)`,
    [bucket_seconds, kept_seconds + bucket_seconds],
  )
}

/** In the order of time; of coarse buckets the value for the function. */
export async function listPoints(
  sql: Sql,
  service_id: string,
  name: MetricName,
  { tier, fn, from_ms, to_ms }: { tier: Tier; fn: MetricFunction; from_ms: number; to_ms: number },
): Promise<{ time: Date; value: number | null }[]> {
  return sql.query(
    `select time, ${columnFor(name, fn)} as value from service_metrics
     where service_id = $1 and bucket_seconds = $2::int and time > $3::timestamptz - make_interval(secs => $2::int) and time < $4
     order by time`,
    [service_id, tier.bucket_seconds, new Date(from_ms), new Date(to_ms)],
  )
}

export type LatestRow = { service_id: string; time: Date } & { [Name in MetricName]: number | null }

/** What other servers measured just now. */
export async function listLatest(sql: Sql, service_ids: readonly string[], tier: Tier): Promise<LatestRow[]> {
  return sql.query<LatestRow>(
    `select distinct on (service_id) service_id, time, ${metric_names.join(', ')} from service_metrics
     where service_id = any ($1) and bucket_seconds = $2::int and time > now() - make_interval(secs => 2 * $2::int)
     order by service_id, time desc`,
    [service_ids, tier.bucket_seconds],
  )
}

/** Due work by kind, and how much of it failed when it was last tried. */
export async function countBacklog(sql: Sql): Promise<{ kind: string; due: number; failing: number }[]> {
  return sql.query(
    `select kind, count(*) filter (where due_at <= now()) as due, count(*) filter (where attempts > 0) as failing
     from work group by kind`,
  )
}
