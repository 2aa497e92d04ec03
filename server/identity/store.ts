// Users and personal access tokens in the metadata store: one statement a function. Secrets come in as hashes.
import type { Role } from '#contract/endpoint.ts'
import type { Sql } from '../db.ts'

export type UserRow = { id: number; email: string; name: string; created: Date }

export async function insertUser(sql: Sql, user: { email: string; name: string }): Promise<UserRow> {
  const [row] = await sql.query<UserRow>(
    'insert into users (email, name) values ($1, $2) returning id, email, name, created',
    [user.email, user.name],
  )
  if (row === undefined) throw new Error('insert into users returned no row')
  return row
}

export async function findUserByEmail(sql: Sql, email: string): Promise<UserRow | undefined> {
  const [row] = await sql.query<UserRow>('select id, email, name, created from users where lower(email) = lower($1)', [
    email,
  ])
  return row
}

export async function listUsers(sql: Sql): Promise<UserRow[]> {
  return sql.query<UserRow>('select id, email, name, created from users order by id')
}

export type TokenRow = {
  public_key: string
  name: string
  project_id: string
  user_id: number
  created: Date
  expires_at: Date | null
  last_used_at: Date | null
}

export type NewToken = {
  public_key: string
  secret_hash: Buffer
  name: string
  project_id: string
  user_id: number
  expires_at: Date | null
}

export async function insertToken(sql: Sql, token: NewToken): Promise<void> {
  await sql.query(
    `insert into tokens (public_key, secret_hash, name, project_id, user_id, expires_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [token.public_key, token.secret_hash, token.name, token.project_id, token.user_id, token.expires_at],
  )
}

export async function listTokens(sql: Sql, project_id?: string): Promise<TokenRow[]> {
  return sql.query<TokenRow>(
    `select public_key, name, project_id, user_id, created, expires_at, last_used_at
     from tokens where $1::text is null or project_id = $1 order by created, public_key`,
    [project_id ?? null],
  )
}

/** False when there was no such token. */
export async function removeToken(sql: Sql, public_key: string): Promise<boolean> {
  const rows = await sql.query('delete from tokens where public_key = $1 returning public_key', [public_key])
  return rows.length > 0
}

/** A token with everything that makes it a caller: its issuer, its project, and the issuer's role there. */
export type CallerRow = {
  public_key: string
  secret_hash: Buffer
  token_name: string
  created: Date
  expires_at: Date | null
  last_used_at: Date | null
  user_id: number
  email: string
  user_name: string
  project_id: string
  project_name: string
  role: Role
}

export async function findCaller(sql: Sql, public_key: string): Promise<CallerRow | undefined> {
  const [row] = await sql.query<CallerRow>(
    `select t.public_key, t.secret_hash, t.name as token_name, t.created, t.expires_at, t.last_used_at,
            u.id as user_id, u.email, u.name as user_name, p.id as project_id, p.name as project_name, m.role
     from tokens t
     join members m on m.project_id = t.project_id and m.user_id = t.user_id
     join users u on u.id = t.user_id
     join projects p on p.id = t.project_id
     where t.public_key = $1`,
    [public_key],
  )
  return row
}

export async function saveTokenUse(sql: Sql, public_key: string, pace_seconds: number): Promise<void> {
  await sql.query(
    `update tokens set last_used_at = now()
     where public_key = $1 and (last_used_at is null or last_used_at < now() - make_interval(secs => $2))`,
    [public_key, pace_seconds],
  )
}
