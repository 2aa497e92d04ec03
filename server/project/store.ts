// Projects and their members in the metadata store: one statement a function.
import type { Role } from '#contract/endpoint.ts'
import type { Sql } from '../db.ts'

export type ProjectRow = { id: string; name: string; created: Date }

export async function insertProject(sql: Sql, project: { id: string; name: string }): Promise<ProjectRow> {
  const [row] = await sql.query<ProjectRow>(
    'insert into projects (id, name) values ($1, $2) returning id, name, created',
    [project.id, project.name],
  )
  if (row === undefined) throw new Error('insert into projects returned no row')
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

export async function insertMember(
  sql: Sql,
  member: { project_id: string; user_id: number; role: Role },
): Promise<void> {
  await sql.query('insert into members (project_id, user_id, role) values ($1, $2, $3)', [
    member.project_id,
    member.user_id,
    member.role,
  ])
}

export type MemberRow = { user_id: number; email: string; role: Role }

/** The oldest member first. */
export async function listMembers(sql: Sql, project_id: string): Promise<MemberRow[]> {
  return sql.query<MemberRow>(
    `select m.user_id, u.email, m.role from members m join users u on u.id = m.user_id
     where m.project_id = $1 order by m.created, m.user_id`,
    [project_id],
  )
}
