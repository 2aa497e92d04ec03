// The control plane's own connection to a service: by its unix socket, as the superuser that only the control plane's
// operating-system user may be. Nothing it says reaches the server's log: a statement may hold a verifier.
import type { Socket } from 'node:net'
import pg from 'pg'
import type { Place } from '../layout.ts'
import { newSocketTo } from '../tenant-files.ts'
import { unlessStill } from './standstill.ts'

export type SessionOptions = { database?: string; statement_timeout_ms?: number; connect_timeout_ms?: number }

const connect_timeout_ms_default = 5_000
const statement_timeout_ms_default = 8_000
const goodbye_ms_max = 500
/** Of one session, the longest of which asks for a few hundred bytes every few seconds. */
const answer_bytes_max = 256 * 1024 ** 2

export async function withSuperuser<T>(
  place: Place,
  options: SessionOptions,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = newSession(place, options)
  try {
    return await unlessStill(place, async (still) => {
      still.addEventListener('abort', () => client.connection.stream.destroy())
      await client.connect()
      return await work(client)
    })
  } finally {
    // The server takes leave by itself, and nobody needs to see it.
    void endSession(client)
  }
}

/** Whoever takes it connects it and ends it. */
export function newSession(
  place: Place,
  {
    database = 'postgres',
    statement_timeout_ms = statement_timeout_ms_default,
    connect_timeout_ms = connect_timeout_ms_default,
  }: SessionOptions,
): pg.Client {
  // A failing or slow statement would be logged with its text.
  const quiet = {
    log_statement: 'none',
    log_min_error_statement: 'panic',
    log_min_duration_statement: -1,
    log_min_duration_sample: -1,
    log_transaction_sample_rate: 0,
    statement_timeout: statement_timeout_ms,
    // What we do must not wait for a standby that we may be about to make. What is lost with a primary is done again.
    synchronous_commit: 'local',
    // Also where customers are refused for lack of space.
    default_transaction_read_only: 'off',
  }
  const client = new pg.Client({
    ...socketOf(place),
    user: 'postgres',
    database,
    application_name: 'howdah',
    connectionTimeoutMillis: connect_timeout_ms,
    query_timeout: statement_timeout_ms + 1_000,
    options: Object.entries(quiet)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  })
  // A connection that breaks fails its query; the event alone must not end the process.
  client.on('error', () => undefined)
  return client
}

/** Where the driver connects: through a socket that no link can lead to another service's server. */
export function socketOf({ sockets, port }: Place) {
  const stream = () => bounded(newSocketTo(sockets, `.s.PGSQL.${port}`))
  return { host: sockets, port, stream }
}

/** What answers there may be a program of the service's user, which could answer without end. */
function bounded(socket: Socket): Socket {
  return socket.on('data', () => {
    if (socket.bytesRead > answer_bytes_max) socket.destroy(new Error('the server answers without end'))
  })
}

/** A server that stands still never takes leave. Nobody waits for it: least of all a look that may have to replace it. */
export async function endSession(client: pg.Client): Promise<void> {
  const leave = setTimeout(() => client.connection.stream.destroy(), goodbye_ms_max)
  await client.end().catch(() => undefined)
  clearTimeout(leave)
}
