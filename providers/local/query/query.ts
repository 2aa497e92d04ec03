// One statement of a caller of the API in a running service, over the unix socket: a VPC does not matter, nor who may connect from where.
//
// 1. The session is a throw-away role's from its first byte to its last: it is no superuser's at any time.
// 2. One statement: it goes by the extended protocol, which takes no second one. No text is read to decide what it may do.
// 3. In read mode the transaction reads only, and has begun to: nothing in it can make it write any more. It is rolled back.
// 4. In write mode it is committed after the whole answer has come, so that a broken answer wrote nothing.
import pg from 'pg'
import { setTimeout as pause } from 'node:timers/promises'
import { messageOf } from '../../host/message.ts'
import type { QueryAnswer, QueryRefusal, QuerySpec } from '../../query.ts'
import type { Effect } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import { findService } from '../postgres/nodes.ts'
import { dropQueryRole, makeQueryRole, type QueryRole } from '../postgres/query-role.ts'
import { inForce } from '../postgres/port-in-force.ts'
import { endless_answer, endSession, socketOf } from '../postgres/superuser.ts'
import { disownSql } from '../../postgres/query-role.ts'
import { runStatement, typeNames } from './statement.ts'

type QueryHost = { directory: string; as_root: boolean; effect: Effect }

const connect_timeout_ms = 5_000
/** Of one whole answer as it comes from PostgreSQL; what the caller gets of it is less. */
const answer_bytes_max = 16 * 1024 ** 2
/** A statement can catch PostgreSQL's timeout; then its session is ended from outside. */
const grace_ms = 1_000

export async function runQuery(
  host: QueryHost,
  service_id: string,
  spec: QuerySpec,
): Promise<QueryAnswer | QueryRefusal> {
  const found = await findService(host.directory, service_id, host.as_root)
  if (found === undefined) return { unavailable: 'its data is not on this host' }
  const node = await inForce(found)
  let role: QueryRole
  try {
    role = await makeQueryRole(host.effect, node, spec)
  } catch (error) {
    return { unavailable: `its server takes no query now: ${wordsOf(error)}` }
  }
  try {
    return await ask(node, role, spec)
  } finally {
    // What fails here is swept by a pass: the role can log in for two minutes at most, with a password that is forgotten now.
    await dropQueryRole(host.effect, node, role.name).catch(() => undefined)
  }
}

async function ask(node: Node, { name, password }: QueryRole, spec: QuerySpec): Promise<QueryAnswer | QueryRefusal> {
  const { database, application_name, timeout_seconds } = spec
  const client = new pg.Client({
    ...socketOf(node, answer_bytes_max),
    user: name,
    password,
    database,
    application_name,
    connectionTimeoutMillis: connect_timeout_ms,
  })
  let broken: Error | undefined
  client.on('error', (error) => {
    broken ??= error
  })
  const over = new AbortController()
  const late = pause(timeout_seconds * 1000 + grace_ms, true, { signal: over.signal }).catch(() => false)
  void late.then((is_late) => is_late && client.connection.stream.destroy(new Error(timeOut(timeout_seconds))))
  try {
    await client.connect()
    return await inTransaction(client, name, spec)
  } catch (error) {
    return refusalOf(broken ?? error)
  } finally {
    over.abort()
    await endSession(client)
  }
}

async function inTransaction(client: pg.Client, name: string, spec: QuerySpec): Promise<QueryAnswer> {
  const { mode } = spec
  await client.query(mode === 'read' ? 'begin transaction read only' : 'begin')
  // From its first snapshot on, a transaction that only reads stays one.
  if (mode === 'read') await client.query('select 1')
  const begun = performance.now()
  const { type_ids, ...answer } = await runStatement(client, spec)
  const took_ms = Math.round(performance.now() - begun)
  const types = await typeNames(client, type_ids)
  const columns = answer.columns.map(({ name: column }, at) => ({ name: column, type: types[at] ?? 'unknown' }))
  if (mode === 'write') await client.query(disownSql(name))
  await client.query(mode === 'read' ? 'rollback' : 'commit')
  return { ...answer, columns, took_ms }
}

/** What the kernel says names the path of a socket, which is no matter of the caller's. */
function wordsOf(error: unknown): string {
  return error instanceof Error && 'syscall' in error ? 'it does not answer' : messageOf(error)
}

const timeOut = (seconds: number) => `the statement took longer than ${seconds} s; allow it more, or ask for less`

function refusalOf(error: unknown): QueryRefusal {
  if (error instanceof pg.DatabaseError) {
    const { message, code, detail, hint, position, where } = error
    const more = { detail, hint, position: position && `character ${position}`, context: where }
    const details = Object.entries(more).flatMap(([name, value]) => (value ? `${name}: ${value}` : []))
    const refused = `${message} (${code ?? 'no code'})`
    return details.length === 0 ? { refused } : { refused, details: details.join('\n') }
  }
  const message = wordsOf(error)
  if (message === endless_answer) {
    return { refused: `the answer is larger than ${answer_bytes_max / 1024 ** 2} MB; ask for fewer rows or columns` }
  }
  if (message.startsWith('the statement took longer')) return { refused: message }
  return { unavailable: `its server ended the session: ${message}` }
}
