// VPCs and their addresses in the metadata store. One statement a function. A deleted VPC is found by its reconcile only.
import type { Sql } from '../store/db.ts'

export type VpcRow = {
  id: number
  project_id: string
  region_code: string
  name: string
  cidr: string
  created: Date
  deleted_at: Date | null
  generation: number
  observed_generation: number
  waiting_for: string | null
}

const columns = `id, project_id, region_code, name, cidr, created, deleted_at, generation, observed_generation, waiting_for`

/** Undefined when the block overlaps that of another VPC of the project, also of a VPC that is being made right now. */
export async function insertVpc(
  tx: Sql,
  vpc: Pick<VpcRow, 'project_id' | 'region_code' | 'name' | 'cidr'>,
): Promise<VpcRow | undefined> {
  const [row] = await tx.query<VpcRow>(
    `insert into vpcs (project_id, region_code, name, cidr) values ($1, $2, $3, $4)
     on conflict on constraint vpcs_of_a_project_do_not_overlap do nothing
     returning ${columns}`,
    [vpc.project_id, vpc.region_code, vpc.name, vpc.cidr],
  )
  return row
}

export async function findVpc(sql: Sql, id: number): Promise<VpcRow | undefined> {
  const [row] = await sql.query<VpcRow>(`select ${columns} from vpcs where id = $1`, [id])
  return row
}

export async function findVpcOfProject(sql: Sql, project_id: string, id: number): Promise<VpcRow | undefined> {
  const [row] = await sql.query<VpcRow>(
    `select ${columns} from vpcs where id = $1 and project_id = $2 and deleted_at is null`,
    [id, project_id],
  )
  return row
}

/** Those that exist, locked until the transaction ends; in the order of their ids, so that two requests cannot deadlock. */
export async function lockVpcs(tx: Sql, ids: readonly number[]): Promise<VpcRow[]> {
  return tx.query<VpcRow>(
    `select ${columns} from vpcs where id = any ($1) and deleted_at is null order by id for no key update`,
    [ids],
  )
}

export async function listVpcs(sql: Sql, project_id: string): Promise<VpcRow[]> {
  return sql.query<VpcRow>(`select ${columns} from vpcs where project_id = $1 and deleted_at is null order by id`, [
    project_id,
  ])
}

export async function listVpcsOfRegion(sql: Sql, region_code: string): Promise<VpcRow[]> {
  return sql.query<VpcRow>(`select ${columns} from vpcs where region_code = $1 and deleted_at is null order by id`, [
    region_code,
  ])
}

export async function listVpcIds(sql: Sql, region_code: string): Promise<number[]> {
  const rows = await sql.query<{ id: number }>(`select id from vpcs where region_code = $1`, [region_code])
  return rows.map((row) => row.id)
}

/** Whether this store has ever given a VPC this id. */
export async function vpcIdWasGiven(sql: Sql, id: number): Promise<boolean> {
  const [row] = await sql.query<{ given: boolean }>(`select is_called and $1 <= last_value as given from vpcs_id_seq`, [
    id,
  ])
  return row?.given === true
}

/** Of the project, with an address in common. */
export async function findOverlapping(sql: Sql, project_id: string, cidr: string): Promise<VpcRow | undefined> {
  const [row] = await sql.query<VpcRow>(
    `select ${columns} from vpcs where project_id = $1 and cidr && $2::cidr and deleted_at is null order by id limit 1`,
    [project_id, cidr],
  )
  return row
}

export async function saveVpcName(sql: Sql, project_id: string, id: number, name: string) {
  const [row] = await sql.query<VpcRow>(
    `update vpcs set name = $3 where id = $1 and project_id = $2 and deleted_at is null returning ${columns}`,
    [id, project_id, name],
  )
  return row
}

export async function saveVpcDeleted(tx: Sql, id: number): Promise<void> {
  await tx.query(`update vpcs set deleted_at = now(), generation = generation + 1 where id = $1`, [id])
}

/** Something about them is wanted differently. */
export async function raiseGenerations(tx: Sql, ids: readonly number[]) {
  return tx.query<Pick<VpcRow, 'id' | 'generation'>>(
    `update vpcs set generation = generation + 1 where id = any ($1) returning id, generation`,
    [ids],
  )
}

/** Returns the generation that is wanted by now. */
export async function saveVpcObserved(
  tx: Sql,
  { id, observed_generation, waiting_for }: Pick<VpcRow, 'id' | 'observed_generation' | 'waiting_for'>,
): Promise<number | undefined> {
  const [row] = await tx.query<{ generation: number }>(
    `update vpcs set observed_generation = greatest(observed_generation, $2), waiting_for = $3
     where id = $1 returning generation`,
    [id, observed_generation, waiting_for],
  )
  return row?.generation
}

export async function removeVpc(tx: Sql, id: number): Promise<void> {
  await tx.query(`delete from vpcs where id = $1`, [id])
}

/** The services that are wanted in it, without those that are being deleted. */
export async function listServicesOfVpc(sql: Sql, id: number) {
  return sql.query<{ service_id: string; name: string }>(
    `select service_id, name from services where vpc_id = $1 and deleted_at is null order by created, service_id`,
    [id],
  )
}

/** Something has an address in it: it is there, or was not yet observed outside. */
export async function vpcIsInhabited(sql: Sql, vpc_id: number): Promise<boolean> {
  const [row] = await sql.query<{ found: boolean }>(
    `select exists (select from addresses where vpc_id = $1) as found`,
    [vpc_id],
  )
  return row?.found === true
}

/** The VPC that a service is wanted in, locked until the transaction ends. */
export async function findVpcOf(tx: Sql, { vpc_id }: { vpc_id: number | null }): Promise<VpcRow | undefined> {
  return vpc_id === null ? undefined : (await lockVpcs(tx, [vpc_id]))[0]
}
