// Projects in the metadata store: one statement a function.
import type { Role } from '#contract/endpoint.ts'
import type { Sql } from '../store/db.ts'
import { sql } from '../store/sql.ts'

type ProjectRow = { id: string; name: string; created: Date }

export async function insertProject(db: Sql, project: { id: string; name: string }): Promise<ProjectRow> {
  const [row] = await db.query(sql<ProjectRow>`
    insert into projects (id, name) values (${project.id}, ${project.name}) returning id, name, created`)
  if (row === undefined) throw new Error('insert into projects returned no row')
  return row
}

export async function findProject(db: Sql, project_id: string): Promise<ProjectRow | undefined> {
  const [row] = await db.query(sql<ProjectRow>`select id, name, created from projects where id = ${project_id}`)
  return row
}

export async function listProjects(db: Sql): Promise<ProjectRow[]> {
  return db.query(sql<ProjectRow>`select id, name, created from projects order by created, id`)
}

export type CallersProjectRow = ProjectRow & { role: Role; services: number }

export async function listProjectsOfUser(db: Sql, user_id: number): Promise<CallersProjectRow[]> {
  return db.query(sql<CallersProjectRow>`
    select p.id, p.name, p.created, m.role, 
      (select count(*) from services s where s.project_id = p.id and s.ended_at is null) as services
    from projects p join members m on m.project_id = p.id where m.user_id = ${user_id} order by p.created, p.id`)
}

export async function countServices(db: Sql, project_id: string): Promise<number> {
  const [row] = await db.query(sql<{ count: number }>`
    select count(*) as count from services where project_id = ${project_id} and ended_at is null`)
  return row?.count ?? 0
}

export async function countOwnedProjects(db: Sql, user_id: number): Promise<number> {
  const [row] = await db.query(sql<{ count: number }>`
    select count(*) as count from members where user_id = ${user_id} and role = 'owner'`)
  return row?.count ?? 0
}

/** Nothing can be put into the project until this transaction ends. */
export async function lockProjectAgainstUse(tx: Sql, project_id: string): Promise<void> {
  await tx.query(sql`select from projects where id = ${project_id} for update`)
}

export async function saveProjectName(db: Sql, project_id: string, name: string): Promise<ProjectRow | undefined> {
  const [row] = await db.query(sql<ProjectRow>`
    update projects set name = ${name} where id = ${project_id} returning id, name, created`)
  return row
}

export type Content = { kind: string; id: string; name: string; total: number }

/** Some of what keeps a project from being empty, each with how many there are in all. */
export async function listContents(db: Sql, project_id: string, at_most: number): Promise<Content[]> {
  return db.query(sql<Content>`
    select kind, id, name, count(*) over () as total
    from (select case when ended_at is null then 'service' else 'deleted service' end as kind, service_id as id, name, created
          from services where project_id = ${project_id}
          union all
          select 'VPC', id::text, name, created from vpcs where project_id = ${project_id}) as contents
    order by kind desc, created, id limit ${at_most}`)
}

/** Members, tokens and idempotency keys go with it. */
export async function removeProject(tx: Sql, project_id: string): Promise<void> {
  await tx.query(sql`delete from projects where id = ${project_id}`)
}
