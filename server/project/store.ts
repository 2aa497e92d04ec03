// Projects in the metadata store: one statement a function.
import type { Sql } from '../store/db.ts'

export type ProjectRow = { id: string; name: string; created: Date }

export async function insertProject(sql: Sql, project: { id: string; name: string }): Promise<ProjectRow> {
  const [row] = await sql.query<ProjectRow>(
    'insert into projects (id, name) values ($1, $2) returning id, name, created',
    [project.id, project.name],
  )
  if (row === undefined) throw new Error('insert into projects returned no row')
  return row
}

export async function findProject(sql: Sql, project_id: string): Promise<ProjectRow | undefined> {
  const [row] = await sql.query<ProjectRow>('select id, name, created from projects where id = $1', [project_id])
  return row
}

export async function listProjects(sql: Sql): Promise<ProjectRow[]> {
  return sql.query<ProjectRow>('select id, name, created from projects order by created, id')
}

export async function listProjectsOfUser(sql: Sql, user_id: number): Promise<ProjectRow[]> {
  return sql.query<ProjectRow>(
    `select p.id, p.name, p.created from projects p
     join members m on m.project_id = p.id where m.user_id = $1 order by p.created, p.id`,
    [user_id],
  )
}

export async function countOwnedProjects(sql: Sql, user_id: number): Promise<number> {
  const [row] = await sql.query<{ count: number }>(
    `select count(*) as count from members where user_id = $1 and role = 'owner'`,
    [user_id],
  )
  return row?.count ?? 0
}

/** Nothing can be put into the project until this transaction ends. */
export async function lockProjectAgainstUse(tx: Sql, project_id: string): Promise<void> {
  await tx.query('select from projects where id = $1 for update', [project_id])
}

export async function saveProjectName(sql: Sql, project_id: string, name: string): Promise<ProjectRow | undefined> {
  const [row] = await sql.query<ProjectRow>('update projects set name = $2 where id = $1 returning id, name, created', [
    project_id,
    name,
  ])
  return row
}

export type Content = { kind: string; id: string; name: string; total: number }

/** Some of what keeps a project from being empty, each with how many there are in all. */
export async function listContents(sql: Sql, project_id: string, at_most: number): Promise<Content[]> {
  return sql.query<Content>(
    `select kind, id, name, count(*) over () as total
     from (select 'service' as kind, service_id as id, name, created from services where project_id = $1
           union all
           select 'VPC', id::text, name, created from vpcs where project_id = $1) as contents
     order by kind desc, created, id limit $2`,
    [project_id, at_most],
  )
}

/** Members, tokens and idempotency keys go with it. */
export async function removeProject(tx: Sql, project_id: string): Promise<void> {
  await tx.query('delete from projects where id = $1', [project_id])
}
