// The replica_sets table. One statement a function; a row keeps its column names everywhere. A transaction that locks both rows
// locks the service's before the set's.
import type { ServiceState } from '#contract/service-status.ts'
import { type AddressRow, select_addresses } from '../address.ts'
import type { Sql } from '../store/db.ts'
import { fragment, sql } from '../store/sql.ts'

export type ReplicaSetRow = {
  replica_set_id: string
  service_id: string
  name: string
  /** RFC 3339. */
  created: string
  environment: 'DEV' | 'PROD'
  generation: number
  nodes: number
  cpu_millis: number
  memory_gbs: number
  shape_generation: number
  pooler: boolean
  /** Its own and its pooler's. */
  addresses: AddressRow[]
  deleted: boolean
  state: ServiceState
  settled_generation: number
  waiting_for: string | null
  failing_seconds: number | null
}

const columns = fragment`replica_set_id, service_id, name,
  to_char(created at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created, environment,
  generation, nodes, cpu_millis, memory_gbs, shape_generation, pooler, deleted_at is not null as deleted,
  state, settled_generation, waiting_for, extract(epoch from now() - failing_since)::float8 as failing_seconds,
  (${select_addresses} where owner_id = replica_sets.replica_set_id) as addresses`

type NewReplicaSet = Pick<
  ReplicaSetRow,
  'replica_set_id' | 'service_id' | 'name' | 'environment' | 'nodes' | 'cpu_millis' | 'memory_gbs'
> & { region_code: string }

const wanted_columns = ['environment', 'generation', 'cpu_millis', 'memory_gbs', 'shape_generation', 'pooler'] as const
const wanted = fragment`${wanted_columns.join(', ')}, deleted_at`

/** The part of a row that requests may change. */
export type ReplicaSetChange = Partial<Pick<ReplicaSetRow, (typeof wanted_columns)[number]> & { deleted_at: Date }>

export async function insertReplicaSet(tx: Sql, row: NewReplicaSet): Promise<ReplicaSetRow> {
  const [inserted] = await tx.query(sql<ReplicaSetRow>`
    insert into replica_sets (replica_set_id, service_id, region_code, name, environment, nodes,
      cpu_millis, memory_gbs)
    values (${row.replica_set_id}, ${row.service_id}, ${row.region_code}, ${row.name}, ${row.environment}, ${row.nodes},
      ${row.cpu_millis}, ${row.memory_gbs})
    returning ${columns}`)
  if (inserted === undefined) throw new Error('an insert returned no row')
  return inserted
}

/** Of all these services, each one's oldest first. Without services nothing is read. */
export async function listReplicaSets(db: Sql, service_ids: readonly string[]): Promise<ReplicaSetRow[]> {
  if (service_ids.length === 0) return []
  return db.query(sql<ReplicaSetRow>`
    select ${columns} from replica_sets where service_id = any (${service_ids})
    order by replica_sets.created, replica_set_id`)
}

export async function findReplicaSet(db: Sql, replica_set_id: string): Promise<ReplicaSetRow | undefined> {
  const [row] = await db.query(sql<ReplicaSetRow>`
    select ${columns} from replica_sets where replica_set_id = ${replica_set_id}`)
  return row
}

/** The service that a replica set of this project belongs to. */
export async function findServiceIdOfSet(db: Sql, project_id: string, replica_set_id: string) {
  const [row] = await db.query(sql<{ service_id: string }>`
    select service_id from replica_sets join services using (service_id)
    where replica_set_id = ${replica_set_id} and project_id = ${project_id} and ended_at is null`)
  return row?.service_id
}

export async function lockReplicaSet(tx: Sql, service_id: string, replica_set_id: string) {
  const [row] = await tx.query(sql<ReplicaSetRow>`
    select ${columns} from replica_sets
    where replica_set_id = ${replica_set_id} and service_id = ${service_id} for update`)
  return row
}

export async function saveWantedSet(tx: Sql, replica_set_id: string, change: ReplicaSetChange): Promise<void> {
  await tx.query(sql`
    update replica_sets set (${wanted}) =
      (select ${wanted} from jsonb_populate_record(replica_sets, ${JSON.stringify(change)}))
    where replica_set_id = ${replica_set_id}`)
}

/** Something about where they are is wanted differently. */
export async function raiseSetGenerations(tx: Sql, service_id: string): Promise<void> {
  await tx.query(sql`update replica_sets set generation = generation + 1 where service_id = ${service_id}`)
}

type SetObservation = {
  state: ServiceState
  settled_generation: number
  waiting_for: string | null
  /** null: it cannot be told yet, so the earlier value stays. */
  failing: boolean | null
}

/** Returns the generation that is wanted by now. */
export async function saveObservedSet(tx: Sql, replica_set_id: string, observed: SetObservation) {
  const [row] = await tx.query(sql<Pick<ReplicaSetRow, 'generation'>>`
    update replica_sets set state = ${observed.state}, waiting_for = ${observed.waiting_for}, observed_at = now(),
      settled_generation = greatest(settled_generation, ${observed.settled_generation}),
      failing_since = case when ${observed.failing} then coalesce(failing_since, now())
                           when ${observed.failing}::boolean is null then failing_since end
    where replica_set_id = ${replica_set_id} returning generation`)
  return row?.generation
}

export async function lockServiceOfSet(tx: Sql, { service_id }: ReplicaSetRow): Promise<void> {
  await tx.query(sql`select from services where service_id = ${service_id} for update`)
}

export async function removeReplicaSet(tx: Sql, { replica_set_id }: ReplicaSetRow): Promise<void> {
  await tx.query(sql`delete from replica_sets where replica_set_id = ${replica_set_id}`)
  await tx.query(sql`delete from addresses where owner_id = ${replica_set_id}`)
}
