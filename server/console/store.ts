// Logins of the console in the metadata store: one statement a function.
import type { Sql } from '../store/db.ts'
import { sql } from '../store/sql.ts'

type SessionRow = { sealed: Buffer; grant_id: string; user_id: number }

/** A login that is not used for so long ends; its refresh token does too. */
const idle_days = 14

export async function insertSession(db: Sql, session: SessionRow & { id_hash: string }): Promise<void> {
  await db.query(sql`delete from console_sessions where expires_at < now()`)
  await db.query(sql`
    insert into console_sessions (id_hash, sealed, grant_id, user_id, expires_at)
    values (${session.id_hash}, ${session.sealed}, ${session.grant_id}, ${session.user_id},
      now() + make_interval(days => ${idle_days}))`)
}

/** Until the transaction ends no other request reads or refreshes its tokens. */
export async function lockSession(tx: Sql, id_hash: string): Promise<SessionRow | undefined> {
  const [row] = await tx.query(sql<SessionRow>`
    select sealed, grant_id, user_id from console_sessions where id_hash = ${id_hash} and expires_at > now() for update`)
  return row
}

export async function saveTokens(tx: Sql, id_hash: string, sealed: Buffer): Promise<void> {
  await tx.query(sql`
    update console_sessions set sealed = ${sealed}, expires_at = now() + make_interval(days => ${idle_days})
    where id_hash = ${id_hash}`)
}

export async function removeConsoleSession(db: Sql, id_hash: string): Promise<void> {
  await db.query(sql`delete from console_sessions where id_hash = ${id_hash}`)
}
