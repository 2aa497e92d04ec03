// The control plane's own connection to a service: by its unix socket, as the superuser that only the control plane's
// operating-system user may be. None of its statements reaches the server's log: a statement may hold a verifier.
//
// 1. It trusts nothing that a tenant can make. It runs in database `postgres`, to which tenants cannot connect; a session in
//    another database is the exception, and every name that it says is qualified.
// 2. No password of the environment is told it: that is for another server.
// 3. Its settings come with the startup packet: those win over `alter database … set` and `alter role … set`.
import type { Socket } from 'node:net'
import pg from 'pg'
import type { Node } from '../host/layout.ts'
import { newSocketTo } from '../host/tenant-files.ts'
import { optionsOf } from '../../postgres/session-settings.ts'
import { unlessStill } from './standstill.ts'
import { superuser } from '../../postgres/names.ts'

type SessionOptions = {
  database?: string
  /** Of the server: needed for a session in a tenant's database. */
  major?: number
  /** A role that has no password, such as the pooler's, with no settings but its own; absent: the superuser. */
  user?: string
  statement_timeout_ms?: number
  connect_timeout_ms?: number
}

const connect_timeout_ms_default = 5_000
const statement_timeout_ms_default = 8_000
const goodbye_ms_max = 500
/** Of one answer. The driver keeps a hundred bytes and more for a row of seven. */
const answer_bytes_max = 4 * 1024 ** 2
export const endless_answer = 'the server answers without end'

export async function withSuperuser<T>(
  node: Node,
  options: SessionOptions,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = newSession(node, options)
  try {
    return await unlessStill(node, async (still) => {
      still.addEventListener('abort', () => client.connection.stream.destroy())
      await client.connect()
      return await work(client)
    })
  } finally {
    // The server closes its side by itself; no caller waits for that.
    void endSession(client)
  }
}

/** A session of a role that can do less. It is no superuser's at any time. */
export async function withRole<T>(
  node: Node,
  user: string,
  database: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  return await withSuperuser(node, { user, database }, work)
}

/** The caller connects it and ends it. */
export function newSession(
  node: Node,
  {
    database = 'postgres',
    user = superuser,
    major,
    statement_timeout_ms = statement_timeout_ms_default,
    connect_timeout_ms = connect_timeout_ms_default,
  }: SessionOptions,
): pg.Client {
  const client = new pg.Client({
    ...socketOf(node),
    user,
    database,
    application_name: 'howdah',
    connectionTimeoutMillis: connect_timeout_ms,
    query_timeout: statement_timeout_ms + 1_000,
    ...(user === superuser && { options: optionsOf({ ...(major && { major }), statement_timeout_ms }) }),
  })
  // A connection that breaks fails its query; the event alone must not end the process.
  client.on('error', () => undefined)
  return client
}

/**
 * Where the driver connects: through a socket that no link can lead to another service's server. A caller may add a password; without one
 * the driver would take that of the environment, or of a file, and tell it to whatever program listens there.
 */
export function socketOf({ sockets, port }: Node, bytes_max = answer_bytes_max) {
  const stream = () => bounded(newSocketTo(sockets, `.s.PGSQL.${port}`), bytes_max)
  return { host: sockets, port, stream, ssl: false, sslnegotiation: 'postgres', password: noPassword } as const
}

function noPassword(): never {
  throw new Error('the server asks for a password, which a session of the control plane does not have')
}

/**
 * The process that answers there may be a program of the service's user, which could answer without end, and unasked. A session may be as
 * long as it likes: its bytes are counted anew when it has said something.
 */
function bounded(socket: Socket, bytes_max: number): Socket {
  let [said, before] = [0, 0]
  return socket.on('data', ({ length }) => {
    if (socket.bytesWritten > said) [said, before] = [socket.bytesWritten, socket.bytesRead - length]
    if (socket.bytesRead - before > bytes_max) socket.destroy(new Error(endless_answer))
  })
}

/** A stopped server (SIGSTOP) never closes its side. No caller waits for it, least of all a pass that may have to replace it. */
export async function endSession(client: pg.Client): Promise<void> {
  const leave = setTimeout(() => client.connection.stream.destroy(), goodbye_ms_max)
  await client.end().catch(() => undefined)
  clearTimeout(leave)
}
