// Members in the metadata store: one statement a function.
import type { Role } from '#contract/endpoint.ts'
import type { Sql } from '../store/db.ts'

export type MemberRow = {
  user_id: number
  email: string
  name: string
  role: Role
  created: Date
  joined_at: Date | null
}

const select_member = `
  select m.user_id, u.email, u.name, m.role, m.created, u.joined_at from members m join users u on u.id = m.user_id`

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

/** The oldest member first. */
export async function listMembers(sql: Sql, project_id: string): Promise<MemberRow[]> {
  return sql.query<MemberRow>(`${select_member} where m.project_id = $1 order by m.created, m.user_id`, [project_id])
}

export async function findMember(sql: Sql, project_id: string, user_id: number): Promise<MemberRow | undefined> {
  const [row] = await sql.query<MemberRow>(`${select_member} where m.project_id = $1 and m.user_id = $2`, [
    project_id,
    user_id,
  ])
  return row
}

export async function countMembers(sql: Sql, project_id: string): Promise<number> {
  const [row] = await sql.query<{ count: number }>('select count(*) as count from members where project_id = $1', [
    project_id,
  ])
  return row?.count ?? 0
}

/** Owners who can act: an owner who was only invited cannot yet. */
export async function countOwners(sql: Sql, project_id: string): Promise<number> {
  const [row] = await sql.query<{ count: number }>(
    `select count(*) as count from members m join users u on u.id = m.user_id
     where m.project_id = $1 and m.role = 'owner' and u.joined_at is not null`,
    [project_id],
  )
  return row?.count ?? 0
}

export async function saveRole(sql: Sql, project_id: string, user_id: number, role: Role): Promise<void> {
  await sql.query('update members set role = $3 where project_id = $1 and user_id = $2', [project_id, user_id, role])
}

/** The member's tokens go with the membership. */
export async function removeMember(sql: Sql, project_id: string, user_id: number): Promise<void> {
  await sql.query('delete from members where project_id = $1 and user_id = $2', [project_id, user_id])
}
