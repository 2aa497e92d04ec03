// VPCs and their addresses in the metadata store. One statement a function. A deleted VPC is found by its reconcile only.
import type { Sql } from '../store/db.ts'
import { fragment, sql } from '../store/sql.ts'

export type VpcRow = {
  id: number
  project_id: string
  region_code: string
  name: string
  cidr: string
  deleted_at: Date | null
  generation: number
  observed_generation: number
  waiting_for: string | null
}

const columns = fragment`id, project_id, region_code, name, cidr, deleted_at, generation, observed_generation,
  waiting_for`

/** Undefined when the block overlaps that of another VPC of the project, also of a VPC that is being made right now. */
export async function insertVpc(
  tx: Sql,
  vpc: Pick<VpcRow, 'project_id' | 'region_code' | 'name' | 'cidr'>,
): Promise<VpcRow | undefined> {
  const [row] = await tx.query(sql<VpcRow>`
    insert into vpcs (project_id, region_code, name, cidr)
    values (${vpc.project_id}, ${vpc.region_code}, ${vpc.name}, ${vpc.cidr})
    on conflict on constraint vpcs_of_a_project_do_not_overlap do nothing
    returning ${columns}`)
  return row
}

export async function findVpc(db: Sql, id: number): Promise<VpcRow | undefined> {
  const [row] = await db.query(sql<VpcRow>`select ${columns} from vpcs where id = ${id}`)
  return row
}

export async function findVpcOfProject(db: Sql, project_id: string, id: number): Promise<VpcRow | undefined> {
  const [row] = await db.query(sql<VpcRow>`
    select ${columns} from vpcs where id = ${id} and project_id = ${project_id} and deleted_at is null`)
  return row
}

/** Those that exist, locked until the transaction ends; in the order of their ids, so that two requests cannot deadlock. */
export async function lockVpcs(tx: Sql, ids: readonly number[]): Promise<VpcRow[]> {
  return tx.query(sql<VpcRow>`
    select ${columns} from vpcs where id = any (${ids}) and deleted_at is null order by id for no key update`)
}

export async function listVpcs(db: Sql, project_id: string): Promise<VpcRow[]> {
  return db.query(sql<VpcRow>`
    select ${columns} from vpcs where project_id = ${project_id} and deleted_at is null order by id`)
}

export async function listVpcsOfRegion(db: Sql, region_code: string): Promise<VpcRow[]> {
  return db.query(sql<VpcRow>`
    select ${columns} from vpcs where region_code = ${region_code} and deleted_at is null order by id`)
}

export async function listVpcIds(db: Sql, region_code: string): Promise<number[]> {
  const rows = await db.query(sql<{ id: number }>`select id from vpcs where region_code = ${region_code}`)
  return rows.map((row) => row.id)
}

/** Whether this store has ever given a VPC this id. */
export async function vpcIdWasGiven(db: Sql, id: number): Promise<boolean> {
  const [row] = await db.query(sql<{ given: boolean }>`
    select is_called and ${id} <= last_value as given from vpcs_id_seq`)
  return row?.given === true
}

/** Of the project, with an address in common. */
export async function findOverlapping(db: Sql, project_id: string, cidr: string): Promise<VpcRow | undefined> {
  const [row] = await db.query(sql<VpcRow>`
    select ${columns} from vpcs
    where project_id = ${project_id} and cidr && ${cidr}::cidr and deleted_at is null order by id limit 1`)
  return row
}

export async function saveVpcName(db: Sql, project_id: string, id: number, name: string) {
  const [row] = await db.query(sql<VpcRow>`
    update vpcs set name = ${name} where id = ${id} and project_id = ${project_id} and deleted_at is null
    returning ${columns}`)
  return row
}

export async function saveVpcDeleted(tx: Sql, id: number): Promise<void> {
  await tx.query(sql`update vpcs set deleted_at = now(), generation = generation + 1 where id = ${id}`)
}

/** Something about them is wanted differently. */
export async function raiseGenerations(tx: Sql, ids: readonly number[]) {
  return tx.query(sql<Pick<VpcRow, 'id' | 'generation'>>`
    update vpcs set generation = generation + 1 where id = any (${ids}) returning id, generation`)
}

/** Returns the generation that is wanted by now. */
export async function saveVpcObserved(
  tx: Sql,
  { id, observed_generation, waiting_for }: Pick<VpcRow, 'id' | 'observed_generation' | 'waiting_for'>,
): Promise<number | undefined> {
  const [row] = await tx.query(sql<{ generation: number }>`
    update vpcs
    set observed_generation = greatest(observed_generation, ${observed_generation}), waiting_for = ${waiting_for}
    where id = ${id} returning generation`)
  return row?.generation
}

export async function removeVpc(tx: Sql, id: number): Promise<void> {
  await tx.query(sql`delete from vpcs where id = ${id}`)
}

/** The services that are wanted in it, without those that are being deleted. */
export async function listServicesOfVpc(db: Sql, id: number) {
  return db.query(sql<{ service_id: string; name: string }>`
    select service_id, name from services where vpc_id = ${id} and deleted_at is null order by created, service_id`)
}

/** Deleted services that could be restored in it will come back outside. The ids of these and of their sets. */
export async function detachDeleted(tx: Sql, id: number) {
  const services = await tx.query(sql<{ service_id: string }>`
    update services set vpc_id = null, generation = generation + 1, shape_generation = generation + 1
    where vpc_id = ${id} and kept_until is not null returning service_id`)
  const service_ids = services.map(({ service_id }) => service_id)
  const sets = await tx.query(sql<{ replica_set_id: string }>`
    update replica_sets set generation = generation + 1 where service_id = any (${service_ids}) returning replica_set_id`)
  return { service_ids, replica_set_ids: sets.map(({ replica_set_id }) => replica_set_id) }
}

/** A service or a set has an address in it, or had one and was not yet observed outside. */
export async function vpcIsInhabited(db: Sql, vpc_id: number): Promise<boolean> {
  const [row] = await db.query(sql<{ found: boolean }>`
    select exists (select from addresses where vpc_id = ${vpc_id}) as found`)
  return row?.found === true
}

/** The VPC that a service is wanted in, locked until the transaction ends. */
export async function findVpcOf(tx: Sql, { vpc_id }: { vpc_id: number | null }): Promise<VpcRow | undefined> {
  return vpc_id === null ? undefined : (await lockVpcs(tx, [vpc_id]))[0]
}
