// The replica_sets table. One statement a function; a row keeps its column names everywhere. A transaction that locks both rows
// locks the service's before the set's.
import type { ServiceState } from '#contract/service-status.ts'
import { type AddressRow, addressesColumn } from '../address.ts'
import type { Sql } from '../store/db.ts'

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

const columns = `replica_set_id, service_id, name,
  to_char(created at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created, environment,
  generation, nodes, cpu_millis, memory_gbs, shape_generation, pooler, deleted_at is not null as deleted,
  state, settled_generation, waiting_for, extract(epoch from now() - failing_since)::float8 as failing_seconds,
  ${addressesColumn('replica_sets.replica_set_id')}`

export type NewReplicaSet = Pick<
  ReplicaSetRow,
  'replica_set_id' | 'service_id' | 'name' | 'environment' | 'nodes' | 'cpu_millis' | 'memory_gbs'
> & { region_code: string }

/** The part of a row that requests may change. */
export type ReplicaSetChange = Partial<
  Pick<ReplicaSetRow, 'environment' | 'generation' | 'cpu_millis' | 'memory_gbs' | 'shape_generation' | 'pooler'> & {
    deleted_at: Date
  }
>

export async function insertReplicaSet(tx: Sql, row: NewReplicaSet): Promise<ReplicaSetRow> {
  const [inserted] = await tx.query<ReplicaSetRow>(
    `insert into replica_sets (replica_set_id, service_id, region_code, name, environment, nodes,
       cpu_millis, memory_gbs)
     values ($1, $2, $3, $4, $5, $6, $7, $8) returning ${columns}`,
    [
      row.replica_set_id,
      row.service_id,
      row.region_code,
      row.name,
      row.environment,
      row.nodes,
      row.cpu_millis,
      row.memory_gbs,
    ],
  )
  if (inserted === undefined) throw new Error('an insert returned no row')
  return inserted
}

/** Of all these services, each one's oldest first. Without services nothing is read. */
export async function listReplicaSets(sql: Sql, service_ids: readonly string[]): Promise<ReplicaSetRow[]> {
  if (service_ids.length === 0) return []
  return sql.query<ReplicaSetRow>(
    `select ${columns} from replica_sets where service_id = any ($1) order by replica_sets.created, replica_set_id`,
    [service_ids],
  )
}

export async function findReplicaSet(sql: Sql, replica_set_id: string): Promise<ReplicaSetRow | undefined> {
  const [row] = await sql.query<ReplicaSetRow>(`select ${columns} from replica_sets where replica_set_id = $1`, [
    replica_set_id,
  ])
  return row
}

/** The service that a replica set of this project belongs to. */
export async function findServiceIdOfSet(sql: Sql, project_id: string, replica_set_id: string) {
  const [row] = await sql.query<{ service_id: string }>(
    `select service_id from replica_sets join services using (service_id)
     where replica_set_id = $1 and project_id = $2`,
    [replica_set_id, project_id],
  )
  return row?.service_id
}

export async function lockReplicaSet(tx: Sql, service_id: string, replica_set_id: string) {
  const [row] = await tx.query<ReplicaSetRow>(
    `select ${columns} from replica_sets where replica_set_id = $1 and service_id = $2 for update`,
    [replica_set_id, service_id],
  )
  return row
}

export async function saveWantedSet(tx: Sql, replica_set_id: string, change: ReplicaSetChange): Promise<void> {
  const assignments = Object.keys(change).map((column, index) => `${column} = $${index + 2}`)
  await tx.query(`update replica_sets set ${assignments.join(', ')} where replica_set_id = $1`, [
    replica_set_id,
    ...Object.values(change),
  ])
}

/** Something about where they are is wanted differently. */
export async function raiseSetGenerations(tx: Sql, service_id: string): Promise<void> {
  await tx.query(`update replica_sets set generation = generation + 1 where service_id = $1`, [service_id])
}

export type SetObservation = {
  state: ServiceState
  settled_generation: number
  waiting_for: string | null
  /** null: it cannot be told yet, so the earlier value stays. */
  failing: boolean | null
}

export async function saveObservedSet(tx: Sql, replica_set_id: string, seen: SetObservation): Promise<void> {
  await tx.query(
    `update replica_sets set state = $2, settled_generation = greatest(settled_generation, $3), waiting_for = $4,
       failing_since = case when $5::boolean then coalesce(failing_since, now()) when $5 is null then failing_since end,
       observed_at = now()
     where replica_set_id = $1`,
    [replica_set_id, seen.state, seen.settled_generation, seen.waiting_for, seen.failing],
  )
}

export async function lockServiceOfSet(tx: Sql, { service_id }: ReplicaSetRow): Promise<void> {
  await tx.query(`select from services where service_id = $1 for update`, [service_id])
}

export async function removeReplicaSet(tx: Sql, { replica_set_id }: ReplicaSetRow): Promise<void> {
  await tx.query(`delete from replica_sets where replica_set_id = $1`, [replica_set_id])
  await tx.query(`delete from addresses where owner_id = $1`, [replica_set_id])
}
