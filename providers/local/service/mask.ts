// The mask of a fork: SQL of its owner, run in the copied data before any client reaches it. It runs as a query of the API does: in a
// session of a role that has the rights of the master role and no more, and that is no superuser's at any time.
import pg from 'pg'
import type { Effect } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import { dropQueryRole, makeQueryRole } from '../postgres/query-role.ts'
import { endSession, socketOf } from '../postgres/superuser.ts'
import { disownSql } from '../../postgres/query-role.ts'
import { master_database } from '../../postgres/names.ts'

/** The SQL itself failed: it would fail again. */
export class MaskFailed extends Error {
  override readonly name = 'MaskFailed'
}

const timeout_seconds = 3600
const connect_timeout_ms = 5_000

/** In one transaction, unless the SQL ends it itself. */
export async function runMask(effect: Effect, node: Node, mask: string, signal: AbortSignal): Promise<void> {
  const role = await makeQueryRole(effect, node, { mode: 'write', timeout_seconds })
  const client = new pg.Client({
    ...socketOf(node),
    user: role.name,
    password: role.password,
    database: master_database,
    application_name: 'howdah mask',
    connectionTimeoutMillis: connect_timeout_ms,
  })
  client.on('error', () => undefined)
  const stop = () => void client.connection.stream.destroy(new Error('the mask was broken off'))
  signal.addEventListener('abort', stop)
  try {
    await client.connect()
    await client.query('begin')
    await effect('mask: run')
    await client.query(mask)
    await client.query(disownSql(role.name))
    const { command } = await client.query('commit')
    if (command !== 'COMMIT') throw new MaskFailed('the mask failed: its transaction was rolled back')
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
    throw new MaskFailed(`the mask failed: ${error.message}${error.code === undefined ? '' : ` (${error.code})`}`)
  } finally {
    signal.removeEventListener('abort', stop)
    await endSession(client)
  }
  await dropQueryRole(effect, node, role.name)
}
