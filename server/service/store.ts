// The services table. One statement a function; a row keeps its column names everywhere.
import { type AddressRow, addressesColumn } from '../address.ts'
import type { Sql } from '../store/db.ts'
import { listReplicaSets, type ReplicaSetRow } from './replica-sets.ts'
import type { ForkStrategy } from '#contract/snapshot.ts'
import type { ServiceState } from '#contract/service-status.ts'

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
  state: ServiceState
  settled_generation: number
  observed_at: Date | null
  waiting_for: string | null
  /** Of the server that served last. */
  postgres_version: string | null
  source_service_id: string | null
  source_project_id: string | null
  source_strategy: ForkStrategy | null
  source_snapshot_id: string | null
  /** In UTC, to the microsecond. */
  source_time: string | null
  source_failed: boolean
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

const columns = `service_id, project_id, name, created, region_code, service_type, environment,
  generation, power, power_generation, cpu_millis, memory_gbs, shape_generation, extensions, password_verifier,
  deleted_at, state, settled_generation, observed_at, waiting_for, postgres_version,
  source_service_id, source_project_id, source_strategy, source_snapshot_id, source_failed,
  to_char(source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as source_time,
  replica_count, sync_replica_count, switchovers, pooler, replica_set_count,
  vpc_id, ${addressesColumn('services.service_id')}`

type StoredRow = Omit<ServiceRow, 'replica_sets'>

/** A service brings its sets along. Most have none, and for these nothing is read. */
async function withSets(sql: Sql, rows: readonly StoredRow[]): Promise<ServiceRow[]> {
  const parents = rows.filter((row) => row.replica_set_count > 0).map((row) => row.service_id)
  const sets = Map.groupBy(await listReplicaSets(sql, parents), (set) => set.service_id)
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
  Partial<Source & Pick<ServiceRow, 'replica_count' | 'sync_replica_count'>>

/** The part of a row that requests may change. */
export type WantedChange = Partial<
  Pick<
    ServiceRow,
    | 'name'
    | 'environment'
    | 'generation'
    | 'power'
    | 'power_generation'
    | 'cpu_millis'
    | 'memory_gbs'
    | 'shape_generation'
    | 'password_verifier'
    | 'deleted_at'
    | 'replica_count'
    | 'sync_replica_count'
    | 'switchovers'
    | 'pooler'
    | 'vpc_id'
  >
>

export async function insertService(tx: Sql, row: NewService): Promise<ServiceRow> {
  const [inserted] = await tx.query<StoredRow>(
    `insert into services (service_id, project_id, name, region_code, service_type, environment,
       cpu_millis, memory_gbs, extensions, password_verifier,
       source_service_id, source_project_id, source_strategy, source_snapshot_id, source_time,
       replica_count, sync_replica_count)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
     returning ${columns}`,
    [
      row.service_id,
      row.project_id,
      row.name,
      row.region_code,
      row.service_type,
      row.environment,
      row.cpu_millis,
      row.memory_gbs,
      row.extensions,
      row.password_verifier,
      row.source_service_id,
      row.source_project_id,
      row.source_strategy,
      row.source_snapshot_id,
      row.source_time,
      row.replica_count ?? 0,
      row.sync_replica_count ?? 0,
    ],
    'insert service',
  )
  if (inserted === undefined) throw new Error('an insert returned no row')
  return { ...inserted, replica_sets: [] }
}

export async function findService(sql: Sql, service_id: string): Promise<ServiceRow | undefined> {
  const rows = await sql.query<StoredRow>(
    `select ${columns} from services where service_id = $1`,
    [service_id],
    'find service',
  )
  return (await withSets(sql, rows))[0]
}

export async function findServiceOfProject(sql: Sql, project_id: string, service_id: string) {
  const rows = await sql.query<StoredRow>(
    `select ${columns} from services where service_id = $1 and project_id = $2`,
    [service_id, project_id],
    'find service of project',
  )
  return (await withSets(sql, rows))[0]
}

export async function lockServiceOfProject(tx: Sql, project_id: string, service_id: string) {
  const rows = await tx.query<StoredRow>(
    `select ${columns} from services where service_id = $1 and project_id = $2 for update`,
    [service_id, project_id],
    'lock service of project',
  )
  return (await withSets(tx, rows))[0]
}

export async function listServices(sql: Sql, project_id: string): Promise<ServiceRow[]> {
  const rows = await sql.query<StoredRow>(
    `select ${columns} from services where project_id = $1 order by created, service_id`,
    [project_id],
  )
  return withSets(sql, rows)
}

/** Counts up to a bound, so that the answer costs the same in a project of any size. */
export async function countServices(tx: Sql, project_id: string, at_most: number): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `select count(*) as count from (select 1 from services where project_id = $1 limit $2) as counted`,
    [project_id, at_most],
  )
  return row?.count ?? 0
}

export async function saveWanted(tx: Sql, service_id: string, change: WantedChange): Promise<void> {
  const columns = Object.keys(change)
  const assignments = columns.map((column, index) => `${column} = $${index + 2}`).join(', ')
  await tx.query(`update services set ${assignments} where service_id = $1`, [service_id, ...Object.values(change)])
}

export type Observation = Pick<ServiceRow, 'state' | 'settled_generation' | 'waiting_for' | 'postgres_version'>

export async function saveObserved(tx: Sql, service_id: string, seen: Observation): Promise<void> {
  await tx.query(
    `update services set state = $2, settled_generation = greatest(settled_generation, $3), waiting_for = $4,
       observed_at = now(), postgres_version = coalesce($5, postgres_version)
     where service_id = $1`,
    [service_id, seen.state, seen.settled_generation, seen.waiting_for, seen.postgres_version],
    'save observed',
  )
}

/** The first pass over a new service has begun: it is no longer merely queued. */
export async function saveFirstPass(sql: Sql, service_id: string): Promise<void> {
  await sql.query(
    `update services set state = 'absent', observed_at = now() where service_id = $1 and state = 'unknown'`,
    [service_id],
  )
}

export async function removeService(tx: Sql, service_id: string): Promise<void> {
  await tx.query(`delete from services where service_id = $1`, [service_id])
  await tx.query(`delete from addresses where owner_id = $1`, [service_id])
}

export async function listServiceIds(sql: Sql): Promise<string[]> {
  const rows = await sql.query<{ service_id: string }>(`select service_id from services`)
  return rows.map((row) => row.service_id)
}

/** Forks of this service that have no data of their own yet. */
export async function listForksBeingMade(sql: Sql, service_id: string): Promise<string[]> {
  const rows = await sql.query<{ service_id: string }>(
    `select service_id from services
     where source_service_id = $1 and settled_generation = 0 and deleted_at is null and not source_failed`,
    [service_id],
  )
  return rows.map((row) => row.service_id)
}

export async function saveSourceFailed(tx: Sql, service_id: string): Promise<void> {
  await tx.query(`update services set source_failed = true where service_id = $1`, [service_id])
}
