// The master role's verifier and the extensions of its database, set over the unix socket as the superuser that only
// the control plane can be. It changes only what differs, and leaves no trace of a verifier in the server's log.
import pg from 'pg'
import type { Effect } from './effect.ts'
import { master_database, master_role, type Place } from './layout.ts'

export type RoleWish = { password_verifier: string; extensions: readonly string[] }

const timeout_ms = 5_000
/** An extension's script may be long; the caller's patience is not. */
const statement_timeout_ms = 8_000

/** A failing or slow statement would be logged with its text, and ours may hold a verifier. */
const quiet = {
  log_statement: 'none',
  log_min_error_statement: 'panic',
  log_min_duration_statement: -1,
  log_min_duration_sample: -1,
  log_transaction_sample_rate: 0,
  statement_timeout: statement_timeout_ms,
}

export async function ensureMasterRole(effect: Effect, place: Place, port: number, wish: RoleWish): Promise<void> {
  // One connection is a third of the cost of a create: a second one only for those who need their own database.
  const database = wish.extensions.length > 0 ? master_database : 'postgres'
  await withSuperuser(place, port, database, async (client) => {
    await ensureVerifier(effect, client, wish.password_verifier)
    await ensureExtensions(effect, client, wish.extensions)
  })
}

async function ensureVerifier(effect: Effect, client: pg.Client, verifier: string): Promise<void> {
  const { rows } = await client.query<{ rolpassword: string | null }>(
    'select rolpassword from pg_authid where rolname = $1',
    [master_role],
  )
  if (rows[0]?.rolpassword === verifier) return
  await effect('master role: set verifier')
  await client.query(`alter role ${master_role} login password ${client.escapeLiteral(verifier)}`)
}

async function ensureExtensions(effect: Effect, client: pg.Client, extensions: readonly string[]): Promise<void> {
  if (extensions.length === 0) return
  const { rows } = await client.query<{ extname: string }>('select extname from pg_extension')
  const there = new Set(rows.map((row) => row.extname))
  for (const extension of extensions) {
    if (there.has(extension)) continue
    await effect('master database: create extension')
    await client.query(`create extension if not exists ${client.escapeIdentifier(extension)} cascade`)
  }
}

async function withSuperuser(place: Place, port: number, database: string, work: (client: pg.Client) => Promise<void>) {
  const client = new pg.Client({
    host: place.sockets,
    port,
    user: 'postgres',
    database,
    application_name: 'howdah',
    connectionTimeoutMillis: timeout_ms,
    query_timeout: statement_timeout_ms + 1_000,
    options: Object.entries(quiet)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  })
  // A connection that breaks fails its query; the event alone must not end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}
