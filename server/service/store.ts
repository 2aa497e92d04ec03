// The services table. One statement a function; a row keeps its column names everywhere.
import { type AddressRow, select_addresses } from '../address.ts'
import type { Sql } from '../store/db.ts'
import { fragment, sql } from '../store/sql.ts'
import { listReplicaSets, type ReplicaSetRow } from './replica-sets.ts'
import type { ForkStrategy } from '#contract/snapshot.ts'
import type { Restorable } from '#providers/provider.ts'
import type { ServiceState } from '#contract/service-status.ts'
import type { ExchangeRow } from './copies.ts'

export type ServiceRow = {
  service_id: string
  project_id: string
  name: string
  created: Date
  region_code: string
  service_type: 'TIMESERIESDB' | 'POSTGRES' | 'VECTOR'
  environment: 'DEV' | 'PROD'
  generation: number
  power: 'on' | 'off'
  power_generation: number
  cpu_millis: number | null
  memory_gbs: number | null
  shape_generation: number
  extensions: string[]
  password_verifier: string
  deleted_at: Date | null
  /** It is deleted, kept, and can be restored until about then; null: it cannot. */
  kept_until: Date | null
  /** Since when all of it is stopped and the API no longer shows it. */
  ended_at: Date | null
  /** Null: while its environment is PROD. */
  protected: boolean | null
  /** Null: as the installation says; likewise the next one. */
  snapshot_every_seconds: number | null
  snapshot_keep_seconds: number | null
  /** When it is deleted by itself. */
  expires_at: Date | null
  /** When that was last told as a warning. */
  expiry_told_at: Date | null
  state: ServiceState
  settled_generation: number
  /** Since when each pass has met a setback. */
  failing_since: Date | null
  waiting_for: string | null
  /** Of the server that served last. */
  postgres_version: string | null
  /** The moments that can be restored; null: none. */
  restorable_from: Date | null
  /** Null: up to now. */
  restorable_until: Date | null
  /** The moment of its newest snapshot. */
  last_snapshot_at: Date | null
  /** When a drill last succeeded. */
  proven_restorable_at: Date | null
  /** Of the last drill. */
  drill_error: string | null
  source_service_id: string | null
  source_project_id: string | null
  source_strategy: ForkStrategy | null
  /** Of LAST_SNAPSHOT alone. */
  source_snapshot_id: string | null
  /** In UTC, to the microsecond. */
  source_time: string | null
  source_failed: boolean
  /** SQL that is run in what is copied from its source. */
  mask: string | null
  /** By which its data gave way, or gives way, to those of a moment. */
  exchange: ExchangeRow | null
  replica_count: number
  sync_replica_count: number
  switchovers: number
  pooler: boolean
  replica_set_count: number
  /** The oldest first. */
  replica_sets: ReplicaSetRow[]
  /** The VPC that it is wanted in. */
  vpc_id: number | null
  /** Its own and its pooler's; its replica sets have theirs. */
  addresses: AddressRow[]
}

export type Source = Pick<
  ServiceRow,
  'source_service_id' | 'source_project_id' | 'source_strategy' | 'source_snapshot_id' | 'source_time'
>

const columns = fragment`service_id, project_id, name, created, region_code, service_type, environment,
  generation, power, power_generation, cpu_millis, memory_gbs, shape_generation, extensions, password_verifier,
  deleted_at, kept_until, ended_at, protected, snapshot_every_seconds,
  snapshot_keep_seconds, expires_at, expiry_told_at,
  state, settled_generation, failing_since, waiting_for, postgres_version, restorable_from, restorable_until,
  (select max(taken_at) from snapshots where snapshots.service_id = services.service_id) as last_snapshot_at,
  proven_restorable_at, drill_error,
  source_service_id, source_project_id, source_strategy, source_snapshot_id, source_failed, mask, exchange,
  to_char(source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as source_time,
  replica_count, sync_replica_count, switchovers, pooler, replica_set_count,
  vpc_id, (${select_addresses} where owner_id = services.service_id) as addresses`

type StoredRow = Omit<ServiceRow, 'replica_sets'>

/** A service brings its sets along. Most have none, and for these nothing is read. */
async function withSets<Row extends StoredRow>(db: Sql, rows: readonly Row[]): Promise<(Row & ServiceRow)[]> {
  const parents = rows.filter((row) => row.replica_set_count > 0).map((row) => row.service_id)
  const sets = Map.groupBy(await listReplicaSets(db, parents), (set) => set.service_id)
  return rows.map((row) => ({ ...row, replica_sets: sets.get(row.service_id) ?? [] }))
}

/** What a new row needs; everything else has its default. */
export type NewService = Pick<
  ServiceRow,
  | 'service_id'
  | 'project_id'
  | 'name'
  | 'region_code'
  | 'service_type'
  | 'environment'
  | 'cpu_millis'
  | 'memory_gbs'
  | 'extensions'
  | 'password_verifier'
> &
  Partial<Source & Pick<ServiceRow, 'replica_count' | 'sync_replica_count' | 'expires_at' | 'mask'>>

const wanted_columns = [
  'name',
  'environment',
  'generation',
  'power',
  'power_generation',
  'cpu_millis',
  'memory_gbs',
  'shape_generation',
  'password_verifier',
  'deleted_at',
  'kept_until',
  'ended_at',
  'protected',
  'snapshot_every_seconds',
  'snapshot_keep_seconds',
  'expires_at',
  'expiry_told_at',
  'replica_count',
  'sync_replica_count',
  'switchovers',
  'pooler',
  'vpc_id',
  'exchange',
  'source_strategy',
  'source_snapshot_id',
  'source_time',
] as const
const wanted = fragment`${wanted_columns.join(', ')}`

/** The part of a row that requests may change. */
export type WantedChange = Partial<Pick<ServiceRow, (typeof wanted_columns)[number]>>

export async function insertService(tx: Sql, row: NewService): Promise<ServiceRow> {
  const [inserted] = await tx.query(
    sql<StoredRow>`
      insert into services (service_id, project_id, name, region_code, service_type, environment,
        cpu_millis, memory_gbs, extensions, password_verifier,
        source_service_id, source_project_id, source_strategy, source_snapshot_id, source_time,
        replica_count, sync_replica_count, expires_at, mask)
      values (${row.service_id}, ${row.project_id}, ${row.name}, ${row.region_code}, ${row.service_type},
        ${row.environment}, ${row.cpu_millis}, ${row.memory_gbs}, ${row.extensions}, ${row.password_verifier},
        ${row.source_service_id}, ${row.source_project_id}, ${row.source_strategy}, ${row.source_snapshot_id},
        ${row.source_time}, ${row.replica_count ?? 0}, ${row.sync_replica_count ?? 0}, ${row.expires_at}, ${row.mask ?? null})
      returning ${columns}`,
    'insert service',
  )
  if (inserted === undefined) throw new Error('an insert returned no row')
  return { ...inserted, replica_sets: [] }
}

export async function findService(db: Sql, service_id: string): Promise<ServiceRow | undefined> {
  const rows = await db.query(
    sql<StoredRow>`select ${columns} from services where service_id = ${service_id}`,
    'find service',
  )
  return (await withSets(db, rows))[0]
}

export async function findServiceOfProject(db: Sql, project_id: string, service_id: string) {
  const rows = await db.query(
    sql<StoredRow>`
      select ${columns} from services
      where service_id = ${service_id} and project_id = ${project_id} and ended_at is null`,
    'find service of project',
  )
  return (await withSets(db, rows))[0]
}

/** A statement that waited for a lock reads the row anew, but its subqueries, such as addresses, from before. So the lock comes first. */
export async function lockServiceOfProject(tx: Sql, project_id: string, service_id: string) {
  await tx.query(
    sql`select from services where service_id = ${service_id} and project_id = ${project_id} for update`,
    'lock service of project',
  )
  return findServiceOfProject(tx, project_id, service_id)
}

/** Absent members choose all. */
type ServicesWanted = {
  name?: string | undefined
  environment?: ServiceRow['environment'] | undefined
  forked_from?: string | undefined
  /** Those that come after this one. */
  after?: Place | undefined
  limit?: number | undefined
}

/** Where a service stands among those of its project. In microseconds, which a Date forgets. */
export type Place = { created_us: number; service_id: string }
type ListedRow = ServiceRow & Place

const created_us = fragment`(extract(epoch from created) * 1000000)::bigint`

/** The oldest first. */
export async function listServices(db: Sql, project_id: string, wanted: ServicesWanted = {}): Promise<ListedRow[]> {
  const { name, environment, forked_from, after, limit } = wanted
  const rows = await db.query(sql<StoredRow & Place>`
    select ${columns}, ${created_us} as created_us from services
    where project_id = ${project_id} and ended_at is null
      and (${name}::text is null or name = ${name})
      and (${environment}::text is null or environment = ${environment})
      and (${forked_from}::text is null or source_service_id = ${forked_from})
      and (${after?.service_id}::text is null or (${created_us}, service_id) > (${after?.created_us}, ${after?.service_id}))
    order by created, service_id limit ${limit}::bigint`)
  return withSets(db, rows)
}

export async function lockDeletedService(tx: Sql, project_id: string, service_id: string) {
  const rows = await tx.query(sql<StoredRow>`
    select ${columns} from services
    where service_id = ${service_id} and project_id = ${project_id} and kept_until is not null for update`)
  return (await withSets(tx, rows))[0]
}

/** Counts up to a bound, so that the answer costs the same in a project of any size. Kept ones count: they have addresses and disk space. */
export async function countServices(tx: Sql, project_id: string, at_most: number): Promise<number> {
  const [row] = await tx.query(sql<{ count: number }>`
    select count(*) as count from (select 1 from services where project_id = ${project_id} limit ${at_most}) as counted`)
  return row?.count ?? 0
}

export async function saveWanted(tx: Sql, service_id: string, change: WantedChange): Promise<void> {
  await tx.query(sql`
    update services set (${wanted}) = (select ${wanted} from jsonb_populate_record(services, ${JSON.stringify(change)}))
    where service_id = ${service_id}`)
}

type Observation = Pick<ServiceRow, 'state' | 'settled_generation' | 'waiting_for' | 'postgres_version'> & {
  failing: boolean
}

/** Returns the shape that is wanted by now: a request may have changed it while the pass was under way. */
export async function saveObserved(tx: Sql, service_id: string, observed: Observation): Promise<number | undefined> {
  const [row] = await tx.query(
    sql<Pick<ServiceRow, 'shape_generation'>>`
      update services set state = ${observed.state}, waiting_for = ${observed.waiting_for},
        settled_generation = greatest(settled_generation, ${observed.settled_generation}),
        failing_since = case when ${observed.failing} then coalesce(failing_since, now()) end,
        observed_at = now(), postgres_version = coalesce(${observed.postgres_version}, postgres_version)
      where service_id = ${service_id} returning shape_generation`,
    'save observed',
  )
  return row?.shape_generation
}

export async function saveRestorable(tx: Sql, before: ServiceRow, observed: Restorable | 'none'): Promise<void> {
  const from = observed === 'none' ? null : observed.from
  const until = observed === 'none' || observed.until === 'now' ? null : observed.until
  const isSame = (one: Date | null, other: Date | null) => one?.getTime() === other?.getTime()
  if (isSame(from, before.restorable_from) && isSame(until, before.restorable_until)) return
  await tx.query(sql`
    update services set restorable_from = ${from}, restorable_until = ${until} where service_id = ${before.service_id}`)
}

/** The first pass over a new service has begun: it is no longer merely queued. */
export async function saveFirstPass(db: Sql, service_id: string): Promise<void> {
  await db.query(sql`
    update services set state = 'absent', observed_at = now() 
    where service_id = ${service_id} and state = 'unknown' and settled_generation = 0`)
}

export async function removeService(tx: Sql, service_id: string): Promise<void> {
  await tx.query(sql`delete from services where service_id = ${service_id}`)
  await tx.query(sql`delete from addresses where owner_id = ${service_id}`)
}

export async function saveDrillRequested(tx: Sql, service_id: string): Promise<void> {
  await tx.query(sql`update services set drill_requested_at = now() where service_id = ${service_id}`)
}
