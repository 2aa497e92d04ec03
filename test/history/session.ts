// A session at a service's endpoint, as a client of a history has it.
import pg from 'pg'
import type { ReadyService } from '#test/installation.ts'

/** How long a client waits before it takes another session. */
const patience_ms = 3_000

export async function newSession({ endpoint, initial_password }: ReadyService, ca: string) {
  const session = new pg.Client({
    ...endpoint,
    user: 'tsdbadmin',
    database: 'tsdb',
    password: initial_password,
    ssl: { ca },
    connectionTimeoutMillis: patience_ms,
    query_timeout: patience_ms,
  })
  session.on('error', () => undefined)
  try {
    await session.connect()
    return session as pg.Client & { connection: { stream: { destroy(): void } } } // its socket, which has no public name
  } catch (error) {
    await session.end().catch(() => undefined)
    throw error
  }
}
