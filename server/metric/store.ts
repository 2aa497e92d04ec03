// The history of metrics in the metadata store: one statement a function, each for all services at once.
import { type MetricFunction, type MetricName, metric_names } from '#contract/metric.ts'
import type { ServiceMetrics } from '#providers/provider.ts'
import type { Sql } from '../store/db.ts'
import { type Fragment, fragment, sql } from '../store/sql.ts'
import type { Tier } from './tier.ts'

export type MeasuredRow = {
  service_id: string
  project_id: string
  region_code: string
  has_standbys: boolean
}

/** Services that may have processes. */
export async function listMeasured(db: Sql): Promise<MeasuredRow[]> {
  return db.query(sql<MeasuredRow>`
    select service_id, project_id, region_code,
           replica_count > 0 or service_id in (select service_id from replica_sets) as has_standbys
    from services where state in ('serving', 'not_serving')`)
}

type SampleRow = { service_id: string; metrics: ServiceMetrics }

const names = fragment`${metric_names.join(', ')}`
const completed = fragment`${metric_names
  .map((name) => `${name} = coalesce(service_metrics.${name}, excluded.${name})`)
  .join(', ')}`

/** Values that another server has written into a bucket stay; missing ones are added. */
export async function insertSamples(db: Sql, samples: readonly SampleRow[], { bucket_seconds }: Tier): Promise<void> {
  const rows = samples.map(({ service_id, metrics }) => ({ service_id, ...metrics }))
  await db.query(sql`
    insert into service_metrics (service_id, bucket_seconds, time, ${names})
    select service_id, ${bucket_seconds}, date_bin(make_interval(secs => ${bucket_seconds}), now(), 'epoch'), ${names}
    from json_populate_recordset(null::service_metrics, ${JSON.stringify(rows)})
    on conflict (service_id, bucket_seconds, time) do update set ${completed}`)
}

const kinds = ['avg', 'min', 'max'] as const
type Kind = (typeof kinds)[number]

/** What a bucket knows best of a metric. One with a single value has no other. */
function columnFor(name: MetricName, kind: Kind): string {
  return kind === 'avg' ? name : `coalesce(${name}_${kind}, ${name})`
}

const extremes = metric_names.flatMap((name) => [name, `${name}_min`, `${name}_max`])
const rolled_columns = fragment`${extremes.join(', ')}`
const rolled_values = fragment`${metric_names
  .map((name) => `avg(${name}), min(${columnFor(name, 'min')}), max(${columnFor(name, 'max')})`)
  .join(', ')}`
const replaced = fragment`${extremes.map((column) => `${column} = excluded.${column}`).join(', ')}`

/** Makes the coarser buckets that the last ones of the finer tier belong to, again and again until they are complete. */
export async function rollUp(db: Sql, finer: Tier, { bucket_seconds }: Tier): Promise<void> {
  await db.query(sql`
    insert into service_metrics (service_id, bucket_seconds, time, ${rolled_columns})
    select service_id, ${bucket_seconds}, date_bin(make_interval(secs => ${bucket_seconds}), time, 'epoch') as bucket,
      ${rolled_values}
    from service_metrics
    where bucket_seconds = ${finer.bucket_seconds}
      and time >= date_bin(make_interval(secs => ${bucket_seconds}),
                           now() - make_interval(secs => ${2 * bucket_seconds}), 'epoch')
    group by service_id, bucket
    on conflict (service_id, bucket_seconds, time) do update set ${replaced}`)
}

export async function removeExpired(db: Sql, { bucket_seconds, kept_seconds }: Tier): Promise<void> {
  await db.query(sql`
    delete from service_metrics
    where bucket_seconds = ${bucket_seconds} and time < now() - make_interval(secs => ${kept_seconds + bucket_seconds})`)
}

const point_columns = Object.fromEntries(
  kinds.flatMap((kind) => metric_names.map((name) => [`${kind} ${name}`, fragment`${columnFor(name, kind)}`])),
) as Record<`${Kind} ${MetricName}`, Fragment>

/** In the order of time; of coarse buckets what the function asks for. */
export async function listPoints(
  db: Sql,
  service_id: string,
  name: MetricName,
  { tier, fn, from_ms, to_ms }: { tier: Tier; fn: MetricFunction; from_ms: number; to_ms: number },
) {
  const first = new Date(from_ms - tier.bucket_seconds * 1000)
  const kind = fn === 'MIN' ? 'min' : fn === 'MAX' ? 'max' : 'avg'
  return db.query(sql<{ time: Date; value: number | null }>`
    select time, ${point_columns[`${kind} ${name}`]} as value from service_metrics
    where service_id = ${service_id} and bucket_seconds = ${tier.bucket_seconds}
      and time > ${first} and time < ${new Date(to_ms)}
    order by time`)
}

export type LatestRow = { service_id: string; time: Date } & { [Name in MetricName]: number | null }

/** What other servers measured just now. */
export async function listLatest(db: Sql, service_ids: readonly string[], { bucket_seconds }: Tier) {
  return db.query(sql<LatestRow>`
    select distinct on (service_id) service_id, time, ${names} from service_metrics
    where service_id = any (${service_ids}) and bucket_seconds = ${bucket_seconds}
      and time > now() - make_interval(secs => ${2 * bucket_seconds})
    order by service_id, time desc`)
}

/** Due work by kind, and how much of it failed when it was last tried. */
export async function countBacklog(db: Sql) {
  return db.query(sql<{ kind: string; due: number; failing: number }>`
    select kind, count(*) filter (where due_at <= now()) as due, count(*) filter (where attempts > 0) as failing
    from work group by kind`)
}

type DrillRow = { service_id: string; name: string; drill_error: string | null; is_proven: boolean }

export async function listDrills(db: Sql, region_codes: readonly string[]): Promise<DrillRow[]> {
  return db.query(sql<DrillRow>`
    select service_id, name, drill_error, coalesce(proven_restorable_at > now() - interval '25 hours', false) as is_proven
    from services where region_code = any (${region_codes}) and deleted_at is null order by service_id`)
}

export async function listFailedDrills(db: Sql): Promise<{ service_id: string; project_id: string }[]> {
  return db.query(sql<{ service_id: string; project_id: string }>`
    select service_id, project_id from services where drill_error is not null and deleted_at is null`)
}
