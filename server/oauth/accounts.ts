// Local accounts: who a password belongs to, changing it, and the one-time links that set it. An unknown e-mail and a
// wrong password are the same thing here, in words and in work. A new password ends every login of its user.
import { hash, randomBytes } from 'node:crypto'
import type { Db, Sql } from '../store/db.ts'
import { findUserByEmail } from '../identity/store.ts'
import { type Passwords } from './password.ts'
import { removeRecordsOfUser } from './records.ts'

const link_hours = 24
const link_bytes = 32

export const set_password_path = '/oauth/password/set'

/** The user whom the e-mail and the password name together. */
export async function findAccount(
  db: Db,
  passwords: Passwords,
  { email, password }: { email: string; password: string },
): Promise<number | undefined> {
  const row = await findPassword(db, email)
  return (await passwords.fits(password, row?.verifier)) ? row?.user_id : undefined
}

/** The query of a link that sets the user's password, once, within a day. Older links of theirs end. */
export async function createPasswordLink(tx: Sql, user_id: number): Promise<string> {
  const token = randomBytes(link_bytes).toString('base64url')
  await tx.query('delete from password_links where user_id = $1', [user_id])
  await tx.query(
    `insert into password_links (token_hash, user_id, expires_at) values ($1, $2, now() + make_interval(hours => $3))`,
    [hashOf(token), user_id, link_hours],
  )
  return `${set_password_path}?token=${token}`
}

/** Whose password the link sets; undefined for a link that is used, expired or unknown. */
export async function findLinkUser(sql: Sql, token: string): Promise<string | undefined> {
  const [row] = await sql.query<{ email: string }>(
    `select u.email from password_links l join users u on u.id = l.user_id
     where l.token_hash = $1 and l.expires_at > now()`,
    [hashOf(token)],
  )
  return row?.email
}

/** False when the link is worth nothing any more. */
export async function setPasswordByLink(db: Db, token: string, verifier: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const [row] = await tx.query<{ user_id: number }>(
      'delete from password_links where token_hash = $1 and expires_at > now() returning user_id',
      [hashOf(token)],
    )
    if (row === undefined) return false
    await setPassword(tx, row.user_id, verifier)
    return true
  })
}

export async function changePassword(db: Db, user_id: number, verifier: string): Promise<void> {
  await db.transaction((tx) => setPassword(tx, user_id, verifier))
}

/** With the first login an invited user has joined. */
export async function noteLogin(sql: Sql, user_id: number): Promise<void> {
  await sql.query('update users set joined_at = now() where id = $1 and joined_at is null', [user_id])
}

/** For people: the user must exist. */
export async function createPasswordLinkFor(tx: Sql, email: string): Promise<string | undefined> {
  const user = await findUserByEmail(tx, email)
  return user && createPasswordLink(tx, user.id)
}

async function setPassword(tx: Sql, user_id: number, verifier: string): Promise<void> {
  await tx.query(
    `insert into passwords (user_id, verifier) values ($1, $2)
     on conflict (user_id) do update set verifier = excluded.verifier, changed_at = now()`,
    [user_id, verifier],
  )
  await tx.query('delete from password_links where user_id = $1', [user_id])
  await removeRecordsOfUser(tx, user_id)
}

async function findPassword(db: Db, email: string): Promise<{ user_id: number; verifier: string } | undefined> {
  // PostgreSQL takes no such text.
  if (email.includes('\0')) return undefined
  const [row] = await db.query<{ user_id: number; verifier: string }>(
    'select p.user_id, p.verifier from users u join passwords p on p.user_id = u.id where lower(u.email) = lower($1)',
    [email.trim()],
  )
  return row
}

function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
