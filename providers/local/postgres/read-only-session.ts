// Read-only sessions and the role helpers in the databases of a service that was made before its template had them, and in those that were
// closed when they were made. What they are is in providers/postgres/read-only-session.ts.
//
// Which databases lack them is told by one column that every database shows: only a superuser can make a trigger at the login, so
// there is one where it is ours. A copy of a database has it too, so template0, from which a tenant may make one, gets it as well.
import pg from 'pg'
import type { Effect } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import {
  first_major_with_logins,
  helper_schema,
  readOnlySessionSql,
  role_setting,
  roleSettingSql,
} from '../../postgres/read-only-session.ts'
import { withSuperuser } from './superuser.ts'
import { master_role } from '../../postgres/names.ts'

/** Never open, so that all databases can be copied from it; opened for as long as it takes. */
const closed_template = 'template0'

/** Read in database `postgres`. */
export async function findUnwatched(client: pg.Client, major: number): Promise<string[]> {
  if (major < first_major_with_logins) return []
  const { rows } = await client.query<{ datname: string }>(
    `select d.datname from pg_catalog.pg_database d
     where d.datname <> 'postgres' and (d.datallowconn or d.datname = $1) and d.datconnlimit <> -2
       and (not d.dathasloginevt or (d.datname = $1 and d.datallowconn)
         or not pg_catalog.has_parameter_privilege($2, $3, 'set'))`,
    [closed_template, master_role, role_setting],
  )
  return rows.map(({ datname }) => datname)
}

/** A sentence when some are still missing: the service serves without them. */
export async function ensureReadOnlyLogins(effect: Effect, node: Node, databases: readonly string[], major: number) {
  try {
    for (const database of databases) {
      if (database === closed_template) await setOpen(effect, node, true)
      await ensureIn(effect, node, database, major)
      if (database === closed_template) await setOpen(effect, node, false)
    }
    if (databases.length === 0) return undefined
    // Last: it must not be set where no trigger reads it.
    await effect('read-only sessions: role setting')
    await withSuperuser(node, {}, (client) => client.query(roleSettingSql(major).join(';')))
    return undefined
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
    return `sessions that ask to read only are not held to it yet: ${error.message}`
  }
}

async function setOpen(effect: Effect, node: Node, open: boolean): Promise<void> {
  await effect(`read-only sessions: ${open ? 'open' : 'close'} ${closed_template}`)
  await withSuperuser(node, {}, async (client) => {
    await client.query(`revoke all on database ${closed_template} from public`)
    await client.query(`alter database ${closed_template} allow_connections ${open}`)
  })
}

async function ensureIn(effect: Effect, node: Node, database: string, major: number): Promise<void> {
  await withSuperuser(node, { database, major }, async (client) => {
    const { rows } = await client.query<{ watched: boolean; taken: boolean }>(
      `select (select d.dathasloginevt from pg_catalog.pg_database d
               where d.datname operator(pg_catalog.=) pg_catalog.current_database()) as watched,
         pg_catalog.to_regnamespace('${helper_schema}') is not null as taken`,
    )
    if (rows[0]?.watched === true) return
    // A schema of that name is the tenant's: it stays as it is, and has no helpers.
    const helpers = rows[0]?.taken !== true
    await effect('read-only sessions: make')
    await client.query(`begin; ${readOnlySessionSql(major, { helpers }).join('; ')}; commit`)
  })
}
