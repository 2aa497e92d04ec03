// The mask of a fork: SQL of its owner, run in the copied data before any client reaches it. It runs as a query of the API does: in a
// session of a role that has the rights of the master role and no more, and that is no superuser's at any time. What the planner knows
// of the columns are samples of the parent's rows, which no mask reaches: they are removed, and taken anew.
import pg from 'pg'
import type { Effect } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import { dropQueryRole, makeQueryRole } from '../postgres/query-role.ts'
import { endless_answer, endSession, socketOf, withSuperuser } from '../postgres/superuser.ts'
import { disownSql } from '../../postgres/query-role.ts'
import { master_database } from '../../postgres/names.ts'

/** The SQL itself failed: it would fail again. */
export class MaskFailed extends Error {
  override readonly name = 'MaskFailed'
}

const timeout_seconds = 3600
const connect_timeout_ms = 5_000
/** The server ends its sessions, because it was told to stop, or one of its processes has died: that says nothing of the SQL. */
const server_ends = /^57P0[123]$/
/** Of rows that are not kept: a mask may be a select that calls a function for every row. */
const answer_bytes_max = 256 * 1024 ** 2

/** Also those that are being taken, of rows as they were before. What is made by users has ids from here on. */
const forget_statistics = `
  select pg_catalog.pg_terminate_backend(pid, 5000) from pg_catalog.pg_stat_activity where backend_type = 'autovacuum worker';
  delete from pg_catalog.pg_statistic where starelid >= 16384;
  delete from pg_catalog.pg_statistic_ext_data`

type Spec = { mask: string; major: number; signal: AbortSignal }

/** In one transaction, unless the SQL ends it itself. */
export async function runMask(effect: Effect, node: Node, { mask, major, signal }: Spec): Promise<void> {
  const role = await makeQueryRole(effect, node, { mode: 'write', timeout_seconds })
  const client = new pg.Client({
    ...socketOf(node, answer_bytes_max),
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
    await effect('mask: run')
    await commitMask(client, mask, role.name)
    await effect('mask: forget statistics')
    await withSuperuser(node, { database: master_database, major }, (superuser) => superuser.query(forget_statistics))
    // What fails here, such as a function of an index, is no part of the mask.
    await client.query('analyze').catch((error: unknown) => {
      if (!isOfSql(error)) throw error
    })
  } finally {
    signal.removeEventListener('abort', stop)
    await endSession(client)
  }
  await dropQueryRole(effect, node, role.name)
}

/** Of what fails here the mask is the reason. */
async function commitMask(client: pg.Client, mask: string, role_name: string): Promise<void> {
  try {
    await client.query('begin')
    await runWithoutRows(client, mask)
    await client.query(disownSql(role_name))
    const { command } = await client.query('commit')
    if (command !== 'COMMIT') throw new MaskFailed('the mask failed: its transaction was rolled back')
  } catch (error) {
    if (error instanceof Error && error.message === endless_answer) {
      throw new MaskFailed(
        `the mask failed: its statements answer more than ${answer_bytes_max / 1024 ** 2} MB; wrap them in a block (do $$ … $$)`,
      )
    }
    if (!isOfSql(error)) throw error
    throw new MaskFailed(`the mask failed: ${error.message}${error.code === undefined ? '' : ` (${error.code})`}`)
  }
}

const isOfSql = (error: unknown): error is pg.DatabaseError =>
  error instanceof pg.DatabaseError && !server_ends.test(error.code ?? '')

/** All of its statements. No row of theirs is of use, and the driver would keep each. */
function runWithoutRows(client: pg.Client, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const query = new pg.Query({ text })
    query.on('row', () => undefined)
    query.on('error', reject)
    query.on('end', () => resolve())
    client.query(query)
  })
}
