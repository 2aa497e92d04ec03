// What the authorization server remembers, in the metadata store: one statement a function. Rows with an expiry that
// has passed mean nothing and are swept now and then, by any server.
import type { Sql } from '../store/db.ts'

export type RecordPayload = Readonly<Record<string, unknown>>

export type NewRecord = {
  model: string
  id: string
  payload: RecordPayload
  user_id: number | null
  grant_id: string | null
  user_code: string | null
  uid: string | null
  expires_at: Date
}

type RecordRow = { payload: RecordPayload; consumed_at: Date | null }

const select_record = 'select payload, consumed_at from oauth_records'

export async function saveRecord(sql: Sql, record: NewRecord): Promise<void> {
  await sql.query(
    `insert into oauth_records (model, id, payload, user_id, grant_id, user_code, uid, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (model, id) do update set payload = excluded.payload, user_id = excluded.user_id,
       grant_id = excluded.grant_id, user_code = excluded.user_code, uid = excluded.uid,
       expires_at = excluded.expires_at`,
    [
      record.model,
      record.id,
      JSON.stringify(record.payload),
      record.user_id,
      record.grant_id,
      record.user_code,
      record.uid,
      record.expires_at,
    ],
  )
}

export async function findRecord(
  sql: Sql,
  model: string,
  by: 'id' | 'uid' | 'user_code',
  value: string,
): Promise<RecordRow | undefined> {
  const [row] = await sql.query<RecordRow>(`${select_record} where model = $1 and ${by} = $2`, [model, value])
  return row
}

/** False when another request was first. */
export async function consumeRecord(sql: Sql, model: string, id: string): Promise<boolean> {
  const rows = await sql.query(
    `update oauth_records set consumed_at = now() where model = $1 and id = $2 and consumed_at is null returning id`,
    [model, id],
  )
  return rows.length > 0
}

/** False when another payload stands there by now. */
export async function swapPayload(
  sql: Sql,
  model: string,
  id: string,
  known: RecordPayload,
  payload: RecordPayload,
): Promise<boolean> {
  const rows = await sql.query(
    `update oauth_records set payload = $4 where model = $1 and id = $2 and payload::text = $3 returning id`,
    [model, id, JSON.stringify(known), JSON.stringify(payload)],
  )
  return rows.length > 0
}

/** The record, removed by this: for what may be used once. */
export async function takeRecord(sql: Sql, model: string, id: string): Promise<RecordPayload | undefined> {
  const [row] = await sql.query<RecordRow>(
    `delete from oauth_records where model = $1 and id = $2 and expires_at > now() returning payload, consumed_at`,
    [model, id],
  )
  return row?.payload
}

export async function removeRecord(sql: Sql, model: string, id: string): Promise<void> {
  await sql.query('delete from oauth_records where model = $1 and id = $2', [model, id])
}

/** The grant itself and everything that was issued under it. */
export async function removeGrant(sql: Sql, grant_id: string): Promise<void> {
  await sql.query(`delete from oauth_records where grant_id = $1 or (model = 'Grant' and id = $1)`, [grant_id])
}

export async function removeRecordsOfGrant(sql: Sql, model: string, grant_id: string): Promise<void> {
  await sql.query('delete from oauth_records where model = $1 and grant_id = $2', [model, grant_id])
}

/** The browser session in which the grant was given to this client. */
export async function removeSession(
  sql: Sql,
  at: { user_id: number; client_id: string; grant_id: string },
): Promise<void> {
  await sql.query(
    `delete from oauth_records
     where model = 'Session' and user_id = $1 and payload -> 'authorizations' -> $2 ->> 'grantId' = $3`,
    [at.user_id, at.client_id, at.grant_id],
  )
}

/** The one browser session that has this name; its id is not known to the store. */
export async function removeSessionNamed(sql: Sql, uid: string): Promise<void> {
  await sql.query(`delete from oauth_records where model = 'Session' and uid = $1`, [uid])
}

/** Ends every login of the user. */
export async function removeRecordsOfUser(sql: Sql, user_id: number): Promise<void> {
  await sql.query('delete from oauth_records where user_id = $1', [user_id])
}

export type GrantUser = { id: number; email: string; name: string }

/** The user, while the grant that they gave stands. */
export async function findUserOfGrant(sql: Sql, grant_id: string, user_id: number): Promise<GrantUser | undefined> {
  const [row] = await sql.query<GrantUser>(
    `select u.id, u.email, u.name from oauth_records g join users u on u.id = g.user_id
     where g.model = 'Grant' and g.id = $1 and g.user_id = $2 and g.expires_at > now()`,
    [grant_id, user_id],
  )
  return row
}

export async function sweepRecords(sql: Sql): Promise<void> {
  await sql.query(`delete from oauth_records where expires_at < now() - interval '5 minutes'`)
  await sql.query(`delete from password_links where expires_at < now()`)
  await sql.query(`delete from login_attempts where at < now() - interval '1 hour'`)
  await sql.query(`delete from oauth_keys where retired_at < now() - interval '2 days'`)
}
