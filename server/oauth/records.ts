// What the authorization server remembers, in the metadata store: one statement a function. Rows with an expiry that
// has passed mean nothing and are swept now and then, by any server.
import type { Sql } from '../store/db.ts'
import { fragment, sql } from '../store/sql.ts'

export type RecordPayload = Readonly<Record<string, unknown>>

type NewRecord = {
  model: string
  id: string
  payload: RecordPayload
  user_id?: number | undefined
  grant_id?: string | undefined
  user_code?: string | undefined
  uid?: string | undefined
  expires_at: Date
}

type RecordRow = { payload: RecordPayload; consumed_at: Date | null }

export async function saveRecord(db: Sql, record: NewRecord): Promise<void> {
  await db.query(sql`
    insert into oauth_records (model, id, payload, user_id, grant_id, user_code, uid, expires_at)
    values (${record.model}, ${record.id}, ${JSON.stringify(record.payload)}, ${record.user_id}, ${record.grant_id},
      ${record.user_code}, ${record.uid}, ${record.expires_at})
    on conflict (model, id) do update set payload = excluded.payload, user_id = excluded.user_id,
      grant_id = excluded.grant_id, user_code = excluded.user_code, uid = excluded.uid,
      expires_at = excluded.expires_at`)
}

const keys = { id: fragment`id`, uid: fragment`uid`, user_code: fragment`user_code` } as const

export async function findRecord(
  db: Sql,
  model: string,
  by: keyof typeof keys,
  value: string,
): Promise<RecordRow | undefined> {
  const [row] = await db.query(sql<RecordRow>`
    select payload, consumed_at from oauth_records
    where model = ${model} and ${keys[by]} = ${value} and expires_at > now()`)
  return row
}

/** False when another request was first. */
export async function consumeRecord(db: Sql, model: string, id: string): Promise<boolean> {
  const rows = await db.query(sql`
    update oauth_records set consumed_at = now()
    where model = ${model} and id = ${id} and consumed_at is null returning id`)
  return rows.length > 0
}

/** False when another payload stands there by now. */
export async function swapPayload(
  db: Sql,
  model: string,
  id: string,
  known: RecordPayload,
  payload: RecordPayload,
): Promise<boolean> {
  const rows = await db.query(sql`
    update oauth_records set payload = ${JSON.stringify(payload)}
    where model = ${model} and id = ${id} and payload::text = ${JSON.stringify(known)} returning id`)
  return rows.length > 0
}

/** How many of a kind are in force. */
export async function countRecords(db: Sql, model: string): Promise<number> {
  const [row] = await db.query(sql<{ count: number }>`
    select count(*)::int as count from oauth_records where model = ${model} and expires_at > now()`)
  return row?.count ?? 0
}

export async function keepRecordUntil(db: Sql, model: string, id: string, expires_at: Date): Promise<void> {
  await db.query(sql`update oauth_records set expires_at = ${expires_at} where model = ${model} and id = ${id}`)
}

/** The record, removed by this: for what may be used once. */
export async function takeRecord(db: Sql, model: string, id: string): Promise<RecordPayload | undefined> {
  const [row] = await db.query(sql<RecordRow>`
    delete from oauth_records where model = ${model} and id = ${id} and expires_at > now()
    returning payload, consumed_at`)
  return row?.payload
}

export async function removeRecord(db: Sql, model: string, id: string): Promise<void> {
  await db.query(sql`delete from oauth_records where model = ${model} and id = ${id}`)
}

/** The grant itself and everything that was issued under it. */
export async function removeGrant(db: Sql, grant_id: string): Promise<void> {
  await db.query(sql`delete from oauth_records where grant_id = ${grant_id} or (model = 'Grant' and id = ${grant_id})`)
}

export async function removeRecordsOfGrant(db: Sql, model: string, grant_id: string): Promise<void> {
  await db.query(sql`delete from oauth_records where model = ${model} and grant_id = ${grant_id}`)
}

/** The browser session in which the grant was given to this client. */
export async function removeSession(
  db: Sql,
  at: { user_id: number; client_id: string; grant_id: string },
): Promise<void> {
  await db.query(sql`
    delete from oauth_records
    where model = 'Session' and user_id = ${at.user_id}
      and payload -> 'authorizations' -> ${at.client_id} ->> 'grantId' = ${at.grant_id}`)
}

/** The one browser session that has this name; its id is not known to the store. */
export async function removeSessionNamed(db: Sql, uid: string): Promise<void> {
  await db.query(sql`delete from oauth_records where model = 'Session' and uid = ${uid}`)
}

/** Ends every login of the user. */
export async function removeRecordsOfUser(db: Sql, user_id: number): Promise<void> {
  await db.query(sql`delete from oauth_records where user_id = ${user_id}`)
}

export type LoginRow = {
  grant_id: string
  client_id: string
  /** Of a program that registered itself. */
  client_name: string | null
  created: Date
  last_used_at: Date
}

/** A grant without a refresh token is of use for as long as its access token lasts. The last used first. */
export async function listLogins(db: Sql, user_id: number, access_token_seconds: number): Promise<LoginRow[]> {
  return db.query(sql<LoginRow>`
    select g.id as grant_id, g.payload ->> 'clientId' as client_id, c.payload ->> 'client_name' as client_name,
      to_timestamp((g.payload ->> 'iat')::float8) as created,
      to_timestamp(max(greatest((g.payload ->> 'iat')::float8, (r.payload ->> 'iat')::float8))) as last_used_at
    from oauth_records g
    left join oauth_records r on r.model = 'RefreshToken' and r.grant_id = g.id
    left join oauth_records c on c.model = 'Client' and c.id = g.payload ->> 'clientId'
    where g.model = 'Grant' and g.user_id = ${user_id} and g.expires_at > now()
    group by g.model, g.id, c.model, c.id
    having bool_or(r.consumed_at is null and r.expires_at > now())
      or to_timestamp((g.payload ->> 'iat')::float8) > now() - make_interval(secs => ${access_token_seconds})
    order by last_used_at desc, g.id`)
}

type GrantUser = { id: number; email: string; name: string }

/** The user, while the grant that they gave stands and they are not disabled. */
export async function findUserOfGrant(db: Sql, grant_id: string, user_id: number): Promise<GrantUser | undefined> {
  const [row] = await db.query(sql<GrantUser>`
    select u.id, u.email, u.name from oauth_records g join users u on u.id = g.user_id
    where g.model = 'Grant' and g.id = ${grant_id} and g.user_id = ${user_id} and g.expires_at > now()
      and u.disabled_at is null`)
  return row
}

export async function sweepRecords(db: Sql): Promise<void> {
  await db.query(sql`delete from oauth_records where expires_at < now() - interval '5 minutes'`)
  await db.query(sql`delete from password_links where expires_at < now()`)
  await db.query(sql`delete from login_attempts where at < now() - interval '1 hour'`)
  await db.query(sql`delete from oauth_keys where retired_at < now() - interval '2 days'`)
}
