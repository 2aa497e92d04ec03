// A service's database as its customer uses it: TLS verified against the installation's published certificate, master
// role and database as promised. And the metadata store of a test's installation, to read behind the API.
import { join } from 'node:path'
import pg from 'pg'

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
