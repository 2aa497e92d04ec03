// Which user a login from an outside issuer is. Its subject there decides for ever; at the first login a verified
// e-mail links them to the user who was invited by it, or makes a new one. Groups become memberships, and end with them.
import { lowerRole, type Role } from '#contract/endpoint.ts'
import { Fault } from '#contract/fault.ts'
import { isEmail, nameProblem } from '#contract/problem.ts'
import type { Sql } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import { findRole, findUserByEmail, insertUser, lockProject, saveClaim } from '../identity/store.ts'
import { countOwners, insertMember, removeMember, saveRole } from '../member/store.ts'
import type { Claims } from './external-issuer.ts'
import { removeRecordsOfUser } from './records.ts'
import { findUser } from './users.ts'

export type GroupRole = { group: string; project_id: string; role: Role }

/** Finds or makes the user, in one transaction with what follows from their groups. */
export async function ensureExternalUser(
  tx: Sql,
  issuer: string,
  claims: Claims,
  group_roles: readonly GroupRole[],
): Promise<number> {
  // Of two first logins at once, at two servers, one makes the user.
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended(${`external ${issuer} ${claims.subject}`}, 0))`)
  const user_id = (await findIdentity(tx, issuer, claims.subject)) ?? (await linkIdentity(tx, issuer, claims))
  if ((await findUser(tx, user_id)) === undefined) {
    throw new Fault('FORBIDDEN', 'Your account is disabled here. Ask the operator of the server.')
  }
  for (const project_id of new Set(group_roles.map((row) => row.project_id))) {
    await followGroups(tx, user_id, project_id, roleOf(claims.groups, group_roles, project_id))
  }
  return user_id
}

/** The highest role that the groups give in a project. */
export function roleOf(
  groups: readonly string[],
  group_roles: readonly GroupRole[],
  project_id: string,
): Role | undefined {
  const given = group_roles.filter((row) => row.project_id === project_id && groups.includes(row.group))
  return given.map((row) => row.role).reduce<Role | undefined>(higher, undefined)
}

const higher = (one: Role | undefined, other: Role): Role => (one && lowerRole(one, other) === other ? one : other)

async function linkIdentity(tx: Sql, issuer: string, claims: Claims): Promise<number> {
  const { email, subject } = claims
  // An unverified e-mail could be another person's, and invitations go by e-mail.
  if (!claims.email_verified) {
    throw new Fault(
      'FORBIDDEN',
      'The issuer does not vouch for your e-mail address. Verify it there, then log in again.',
    )
  }
  if (!isEmail(email)) {
    throw new Fault(
      'FORBIDDEN',
      'Your e-mail address at the issuer has no domain with a dot, such as example.com. Change it there, then log in again.',
    )
  }
  const name = nameProblem(claims.name) === undefined ? claims.name.trim() : email
  const user = (await findUserByEmail(tx, email)) ?? (await insertUser(tx, { email, name }))
  await tx.query(sql`
    insert into external_identities (issuer, subject, user_id) values (${issuer}, ${subject}, ${user.id})`)
  if (user.claimed_in !== null) {
    // Until now the e-mail was a project's word alone: what is logged in with it may be another person's.
    await saveClaim(tx, user.id, null)
    await removeRecordsOfUser(tx, user.id)
  }
  return user.id
}

/** A member for another reason than a group stays as it is. */
async function followGroups(tx: Sql, user_id: number, project_id: string, role: Role | undefined): Promise<void> {
  if (!(await lockProject(tx, project_id))) return
  const known = await findRole(tx, project_id, user_id)
  const by_group = await isByGroup(tx, project_id, user_id)
  if (known !== undefined && !by_group) return
  if (known === undefined && role !== undefined) {
    await insertMember(tx, { project_id, user_id, role })
    await tx.query(sql`insert into group_memberships (project_id, user_id) values (${project_id}, ${user_id})`)
  }
  if (known === undefined || known === role) return
  // A project keeps an owner who can act, even against the groups.
  if (known === 'owner' && (await countOwners(tx, project_id)) <= 1) return
  if (role === undefined) await removeMember(tx, project_id, user_id)
  else await saveRole(tx, project_id, user_id, role)
}

async function findIdentity(tx: Sql, issuer: string, subject: string): Promise<number | undefined> {
  const [row] = await tx.query(sql<{ user_id: number }>`
    select user_id from external_identities where issuer = ${issuer} and subject = ${subject}`)
  return row?.user_id
}

async function isByGroup(tx: Sql, project_id: string, user_id: number): Promise<boolean> {
  const rows = await tx.query(sql`
    select from group_memberships where project_id = ${project_id} and user_id = ${user_id}`)
  return rows.length > 0
}
