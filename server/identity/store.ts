// Users, their roles and personal access tokens in the metadata store: one statement a function. Secrets come in as hashes.
import type { Role } from '#contract/endpoint.ts'
import type { Sql } from '../store/db.ts'
import { fragment, sql } from '../store/sql.ts'

export type UserRow = {
  id: number
  email: string
  name: string
  created: Date
  /** The project that alone vouches for the e-mail: its link set the password. Null: the operator or an issuer does. */
  claimed_in: string | null
  /** Null: may log in. */
  disabled_at: Date | null
}

const user_columns = fragment`id, email, name, created, claimed_in, disabled_at`

export async function insertUser(db: Sql, user: { email: string; name: string }): Promise<UserRow> {
  const [row] = await db.query(sql<UserRow>`
    insert into users (email, name) values (${user.email}, ${user.name}) returning ${user_columns}`)
  if (row === undefined) throw new Error('insert into users returned no row')
  return row
}

/** Does nothing when there is a user with that e-mail. */
export async function insertInvitedUser(db: Sql, user: { email: string; name: string }): Promise<void> {
  await db.query(sql`
    insert into users (email, name, joined_at) values (${user.email}, ${user.name}, null)
    on conflict (lower(email)) do nothing`)
}

export async function findUserByEmail(db: Sql, email: string): Promise<UserRow | undefined> {
  const [row] = await db.query(sql<UserRow>`
    select ${user_columns} from users where lower(email) = lower(${email})`)
  return row
}

export async function saveDisabled(tx: Sql, user_id: number, is_disabled: boolean): Promise<void> {
  await tx.query(sql`
    update users set disabled_at = case when ${is_disabled}::boolean then coalesce(disabled_at, now()) end
    where id = ${user_id}`)
}

/** What `claimed_in` is until this transaction ends. */
export async function lockClaim(tx: Sql, user_id: number): Promise<string | null> {
  const [row] = await tx.query(sql<{ claimed_in: string | null }>`
    select claimed_in from users where id = ${user_id} for no key update`)
  return row?.claimed_in ?? null
}

/** project_id null: the operator or an issuer vouches for the e-mail. */
export async function saveClaim(tx: Sql, user_id: number, project_id: string | null): Promise<void> {
  await tx.query(sql`update users set claimed_in = ${project_id} where id = ${user_id}`)
}

export async function listUsers(db: Sql): Promise<UserRow[]> {
  return db.query(sql<UserRow>`select ${user_columns} from users order by id`)
}

/** Other transactions that count what the user has, or change who vouches for them, wait until this one ends. */
export async function lockUser(tx: Sql, user_id: number): Promise<void> {
  await tx.query(sql`select from users where id = ${user_id} for no key update`)
}

/** One change of a project's members and tokens at a time; what only refers to the project goes on meanwhile. False: there is none. */
export async function lockProject(tx: Sql, project_id: string): Promise<boolean> {
  const rows = await tx.query(sql`select from projects where id = ${project_id} for no key update`)
  return rows.length === 1
}

/** Undefined for a disabled member, too. */
export async function findRole(db: Sql, project_id: string, user_id: number): Promise<Role | undefined> {
  return (await findMembership(db, project_id, user_id))?.role
}

type MembershipRow = {
  role: Role
  /** Null: the member has sent no request to the project yet. */
  used_at: Date | null
}

export async function findMembership(db: Sql, project_id: string, user_id: number): Promise<MembershipRow | undefined> {
  const [row] = await db.query(sql<MembershipRow>`
    select m.role, m.used_at from members m join users u on u.id = m.user_id
    where m.project_id = ${project_id} and m.user_id = ${user_id} and u.disabled_at is null`)
  return row
}

/** The first one. */
export async function saveMemberUse(db: Sql, project_id: string, user_id: number): Promise<void> {
  await db.query(sql`
    update members set used_at = now() where project_id = ${project_id} and user_id = ${user_id} and used_at is null`)
}

type TokenRow = {
  public_key: string
  name: string
  project_id: string
  user_id: number
  role: Role | null
  created: Date
  expires_at: Date | null
  last_used_at: Date | null
}

export type NewToken = Omit<TokenRow, 'created' | 'last_used_at'> & { secret_hash: Buffer }

export async function insertToken(db: Sql, token: NewToken): Promise<void> {
  await db.query(sql`
    insert into tokens (public_key, secret_hash, name, project_id, user_id, role, expires_at)
    values (${token.public_key}, ${token.secret_hash}, ${token.name}, ${token.project_id}, ${token.user_id},
      ${token.role}, ${token.expires_at})`)
}

export async function listTokens(db: Sql, project_id?: string): Promise<TokenRow[]> {
  return db.query(sql<TokenRow>`
    select public_key, name, project_id, user_id, role, created, expires_at, last_used_at
    from tokens where project_id = coalesce(${project_id}, project_id) order by created, public_key`)
}

export async function countTokens(db: Sql, project_id: string): Promise<number> {
  const [row] = await db.query(sql<{ count: number }>`
    select count(*) as count from tokens where project_id = ${project_id}`)
  return row?.count ?? 0
}

/** Its project; undefined when there was no such token. */
export async function removeToken(db: Sql, public_key: string, project_id?: string): Promise<string | undefined> {
  const [row] = await db.query(sql<{ project_id: string }>`
    delete from tokens where public_key = ${public_key} and project_id = coalesce(${project_id}, project_id)
    returning project_id`)
  return row?.project_id
}

export async function findTokenSecret(db: Sql, public_key: string): Promise<Buffer | undefined> {
  const [row] = await db.query(sql<{ secret_hash: Buffer }>`
    select secret_hash from tokens where public_key = ${public_key}`)
  return row?.secret_hash
}

/** A token with everything that makes it a caller: its issuer, its project, and the issuer's role there. */
export type CallerRow = {
  public_key: string
  token_name: string
  token_role: Role | null
  created: Date
  expires_at: Date | null
  last_used_at: Date | null
  user_id: number
  email: string
  user_name: string
  project_id: string
  project_name: string
  member_role: Role
}

const select_caller = fragment`
  select t.public_key, t.name as token_name, t.role as token_role, t.created, t.expires_at, t.last_used_at,
         u.id as user_id, u.email, u.name as user_name, p.id as project_id, p.name as project_name,
         m.role as member_role
  from tokens t
  join members m on m.project_id = t.project_id and m.user_id = t.user_id
  join users u on u.id = t.user_id
  join projects p on p.id = t.project_id`

/** Undefined while its issuer is disabled. */
export async function findCaller(db: Sql, public_key: string): Promise<CallerRow | undefined> {
  const [row] = await db.query(sql<CallerRow>`
    ${select_caller} where t.public_key = ${public_key} and u.disabled_at is null`)
  return row
}

/** The tokens of a project with their issuers. */
export async function listCallers(db: Sql, project_id: string): Promise<CallerRow[]> {
  return db.query(sql<CallerRow>`${select_caller} where t.project_id = ${project_id} order by t.created, t.public_key`)
}

export async function saveTokenUse(db: Sql, public_key: string, pace_seconds: number): Promise<void> {
  await db.query(sql`
    update tokens set last_used_at = now()
    where public_key = ${public_key}
      and (last_used_at is null or last_used_at < now() - make_interval(secs => ${pace_seconds}))`)
}
