// A service's database as its customer uses it: TLS verified against the installation's published certificate, master
// role and database as promised. And the metadata store of a test's installation, to read behind the API.
import { join } from 'node:path'
import pg from 'pg'
import { openInstallation } from '#server/installation.ts'
import { type Db, openDb } from '#server/store/db.ts'
import { metadataStoreIsRunning, stopMetadataStore } from '#server/store/embedded.ts'
import { until } from './until.ts'

export type Database = { endpoint: { host: string; port: number } }

const patience_ms = 60_000

/** An open session; the caller ends it. Fails as a customer's login would. */
export async function loginTo(api_url: string, { endpoint }: Database, password: string): Promise<pg.Client> {
  const ca = await (await fetch(`${api_url}/ca.pem`)).text()
  const client = new pg.Client({
    ...endpoint,
    user: 'tsdbadmin',
    database: 'tsdb',
    password,
    ssl: { ca },
    connectionTimeoutMillis: patience_ms,
    query_timeout: patience_ms,
  })
  // A session that a crash breaks fails its next query; the event alone must not end the test.
  client.on('error', () => undefined)
  try {
    await client.connect()
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
  return client
}

/** The first column of all rows of one statement, in a session of its own. */
export async function ask(api_url: string, database: Database, password: string, sql: string): Promise<string[]> {
  const client = await loginTo(api_url, database, password)
  try {
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' })
    return rows.map((row) => String(row[0]))
  } finally {
    await client.end()
  }
}

/** The embedded metadata store of a data directory. */
export function storeUrlOf(data_dir: string): string {
  return `postgres://postgres@/postgres?host=${encodeURIComponent(join(data_dir, 'store', 'run'))}`
}

type Installed = { config: { data_dir: string } }

/** Of a test's installation; the caller closes it. */
export const openStoreOf = ({ config }: Installed): Db => openDb(storeUrlOf(config.data_dir))

/** So many transactions of the store wait for others: those that come to one row get it in the order in which they came. */
export const untilWaiting = (db: Db, count: number) =>
  until(async () => (await db.query('select from pg_locks where not granted')).length === count)

/** Its server starts it again, so it may have to be stopped more than once. */
export async function stopStoreOf({ config }: Installed): Promise<void> {
  const { store_directory: directory } = await openInstallation(config.data_dir)
  if (await metadataStoreIsRunning({ directory })) await stopMetadataStore({ directory })
}
