// Members in the metadata store: one statement a function.
import type { Role } from '#contract/endpoint.ts'
import type { Sql } from '../store/db.ts'
import { fragment, sql } from '../store/sql.ts'

export type MemberRow = {
  user_id: number
  email: string
  name: string
  role: Role
  created: Date
  /** Null for a user who was invited by e-mail and has not logged in yet. */
  joined_at: Date | null
  disabled_at: Date | null
}

const select_member = fragment`
  select m.user_id, u.email, u.name, m.role, m.created, u.joined_at, u.disabled_at from members m join users u on u.id = m.user_id`

export async function insertMember(
  db: Sql,
  member: { project_id: string; user_id: number; role: Role },
): Promise<void> {
  await db.query(sql`
    insert into members (project_id, user_id, role) values (${member.project_id}, ${member.user_id}, ${member.role})`)
}

/** The oldest member first. */
export async function listMembers(db: Sql, project_id: string): Promise<MemberRow[]> {
  return db.query(sql<MemberRow>`${select_member} where m.project_id = ${project_id} order by m.created, m.user_id`)
}

export async function findMember(db: Sql, project_id: string, user_id: number): Promise<MemberRow | undefined> {
  const [row] = await db.query(sql<MemberRow>`
    ${select_member} where m.project_id = ${project_id} and m.user_id = ${user_id}`)
  return row
}

export async function countMembers(db: Sql, project_id: string): Promise<number> {
  const [row] = await db.query(sql<{ count: number }>`
    select count(*) as count from members where project_id = ${project_id}`)
  return row?.count ?? 0
}

/** Of the user, besides this one. */
export async function countOtherProjects(db: Sql, project_id: string, user_id: number): Promise<number> {
  const [row] = await db.query(sql<{ count: number }>`
    select count(*) as count from members where user_id = ${user_id} and project_id <> ${project_id}`)
  return row?.count ?? 0
}

/** Owners who can act: an owner who was only invited, or is disabled, cannot. */
export async function countOwners(db: Sql, project_id: string): Promise<number> {
  const [row] = await db.query(sql<{ count: number }>`
    select count(*) as count from members m join users u on u.id = m.user_id
    where m.project_id = ${project_id} and m.role = 'owner' and u.joined_at is not null and u.disabled_at is null`)
  return row?.count ?? 0
}

/** In which no owner but this one can act. */
export async function listProjectsOfLastOwner(db: Sql, user_id: number): Promise<{ id: string; name: string }[]> {
  return db.query(sql<{ id: string; name: string }>`
    select p.id, p.name from members own join projects p on p.id = own.project_id
    where own.user_id = ${user_id} and own.role = 'owner' and not exists (
      select from members m join users u on u.id = m.user_id
      where m.project_id = p.id and m.role = 'owner' and m.user_id <> own.user_id
        and u.joined_at is not null and u.disabled_at is null)
    order by p.created, p.id`)
}

export async function saveRole(db: Sql, project_id: string, user_id: number, role: Role): Promise<void> {
  await db.query(sql`update members set role = ${role} where project_id = ${project_id} and user_id = ${user_id}`)
}

/** The member's tokens go with the membership. */
export async function removeMember(db: Sql, project_id: string, user_id: number): Promise<void> {
  await db.query(sql`delete from members where project_id = ${project_id} and user_id = ${user_id}`)
}
