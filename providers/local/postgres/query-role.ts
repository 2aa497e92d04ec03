// The role of a query in a running service: made before the query, dropped after it, and swept where a server died in between.
// It is made, and dropped, from database `postgres`; what each statement is, and why, is in providers/postgres/query-role.ts.
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { Effect } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import { withCatalogChanges } from './tenant-locks.ts'
import {
  disarmSql,
  endSessionsSql,
  expired_roles_sql,
  type QueryMode,
  queryRoleName,
  queryRoleSql,
} from '../../postgres/query-role.ts'

export type QueryRole = { name: string; password: string }

const temp_file_limit_kb_max = 256 * 1024
const dependent_objects = '2BP01'
const unknown_role = '42704'

export async function makeQueryRole(
  effect: Effect,
  node: Node,
  spec: { mode: QueryMode; timeout_seconds: number },
): Promise<QueryRole> {
  return await withCatalogChanges(node, [], async (client) => {
    const { rows } = await client.query<{ major: number; limit_kb: number }>(
      `select pg_catalog.current_setting('server_version_num')::int / 10000 as major,
         (select s.setting::int from pg_catalog.pg_settings s where s.name = 'temp_file_limit') as limit_kb`,
    )
    const { major = 0, limit_kb = -1 } = rows[0] ?? {}
    const temp_file_limit_kb = limit_kb < 0 ? temp_file_limit_kb_max : Math.min(limit_kb, temp_file_limit_kb_max)
    // New at every attempt.
    const role = { name: queryRoleName(randomBytes(8).toString('hex')), password: randomBytes(24).toString('hex') }
    await effect('query role: make')
    await client.query(queryRoleSql({ ...role, ...spec, major, temp_file_limit_kb, now: new Date() }))
    return role
  })
}

/** With every session of it. */
export async function dropQueryRole(effect: Effect, node: Node, name: string): Promise<void> {
  await withCatalogChanges(node, [], (client) => drop(effect, client, name))
}

/** Those of servers that died, and of the parent of a fork. */
export async function sweepQueryRoles(effect: Effect, client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(expired_roles_sql)
  for (const { name } of rows) await drop(effect, client, name)
}

async function drop(effect: Effect, client: pg.Client, name: string): Promise<void> {
  await effect('query role: drop')
  await client.query(endSessionsSql(name))
  try {
    await client.query(`drop role ${name}`)
  } catch (error) {
    const code = error instanceof pg.DatabaseError ? error.code : undefined
    // Another server swept it.
    if (code === unknown_role) return
    if (code !== dependent_objects) throw error
    await client.query(disarmSql(name))
  }
}
