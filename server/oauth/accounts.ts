// Local accounts: who a password belongs to, changing it, and the one-time links that set it. An unknown e-mail and a
// wrong password are the same thing here, in words and in work. A new password ends every login of its user.
import { hash } from 'node:crypto'
import type { Db, Sql } from '../store/db.ts'
import { fragment, sql } from '../store/sql.ts'
import { newRandomText } from '../random-text.ts'
import { lockUser, saveClaim, saveDisabled } from '../identity/store.ts'
import { type Passwords } from './password.ts'
import { removeRecordsOfUser } from './records.ts'

export const link_hours = 24

export const set_password_path = '/oauth/password/set'

/** The user whom the e-mail and the password name together; a disabled one has none. */
export async function findAccount(
  db: Db,
  passwords: Passwords,
  { email, password }: { email: string; password: string },
): Promise<number | undefined> {
  const row = await findPassword(db, email)
  return (await passwords.fits(password, row?.verifier)) ? row?.user_id : undefined
}

/** The query of a link that sets the user's password, once, within a day. Older links of theirs end. project_id: of a project's admin. */
export async function createPasswordLink(tx: Sql, user_id: number, project_id: string | null = null): Promise<string> {
  const token = newRandomText()
  await tx.query(sql`delete from password_links where user_id = ${user_id}`)
  await tx.query(sql`
    insert into password_links (token_hash, user_id, project_id, expires_at)
    values (${hashOf(token)}, ${user_id}, ${project_id}, now() + make_interval(hours => ${link_hours}))`)
  return `${set_password_path}?token=${token}`
}

/** A project's link is good for a user of that project alone, who has not logged in yet. */
const in_force = fragment`l.expires_at > now()
  and exists (select from users where id = l.user_id and disabled_at is null and (l.project_id is null or joined_at is null))
  and not exists (select from members where user_id = l.user_id and project_id <> l.project_id)`

/** Whose password the link sets; undefined for a link that is used, expired or unknown. */
export async function findLinkUser(db: Sql, token: string): Promise<string | undefined> {
  const [row] = await db.query(sql<{ email: string }>`
    select u.email from password_links l join users u on u.id = l.user_id
    where l.token_hash = ${hashOf(token)} and ${in_force}`)
  return row?.email
}

/** False when the link is worth nothing any more. */
export async function setPasswordByLink(db: Db, token: string, verifier: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const [known] = await tx.query(sql<{ user_id: number }>`
      select user_id from password_links where token_hash = ${hashOf(token)}`)
    if (known === undefined) return false
    // No other project adds them meanwhile.
    await lockUser(tx, known.user_id)
    const [link] = await tx.query(sql<{ user_id: number; project_id: string | null }>`
      delete from password_links l where token_hash = ${hashOf(token)} and ${in_force} returning user_id, project_id`)
    if (link === undefined) return false
    await saveClaim(tx, link.user_id, link.project_id)
    await setPassword(tx, link.user_id, verifier)
    return true
  })
}

export async function changePassword(db: Db, user_id: number, verifier: string): Promise<void> {
  await db.transaction((tx) => setPassword(tx, user_id, verifier))
}

/** With the first login an invited user has joined. */
export async function noteLogin(db: Sql, user_id: number): Promise<void> {
  await db.query(sql`update users set joined_at = now() where id = ${user_id} and joined_at is null`)
}

/** Ends every login of the user; none begins, and no token of theirs is believed, until they are enabled again. */
export async function disableUser(tx: Sql, user_id: number): Promise<void> {
  await saveDisabled(tx, user_id, true)
  await endLogins(tx, user_id)
}

async function setPassword(tx: Sql, user_id: number, verifier: string): Promise<void> {
  await tx.query(sql`
    insert into passwords (user_id, verifier) values (${user_id}, ${verifier})
    on conflict (user_id) do update set verifier = excluded.verifier, changed_at = now()`)
  await endLogins(tx, user_id)
}

/** Those under way, and links that could begin one, too. */
async function endLogins(tx: Sql, user_id: number): Promise<void> {
  await tx.query(sql`delete from password_links where user_id = ${user_id}`)
  await removeRecordsOfUser(tx, user_id)
}

async function findPassword(db: Db, email: string): Promise<{ user_id: number; verifier: string } | undefined> {
  // PostgreSQL takes no such text; and a spelling that is not counted as this account's is none of it.
  if (/[\0\u0130\u212a]/.test(email)) return undefined
  const [row] = await db.query(sql<{ user_id: number; verifier: string }>`
    select p.user_id, p.verifier from users u join passwords p on p.user_id = u.id
    where lower(u.email) = lower(${email.trim()}) and u.disabled_at is null`)
  return row
}

function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
