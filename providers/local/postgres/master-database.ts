// Keeps the master role able to log in to its database. The database is the tenant's own: it can be closed, limited to no connection, renamed
// or dropped. What can be undone without touching data is undone; otherwise the events say what the tenant must do.
// All of it is read and changed from database `postgres`.
import type pg from 'pg'
import type { ObservedEvent } from '../../provider.ts'
import type { Effect } from '../host/effect.ts'
import { TenantSetback } from './tenant-setback.ts'
import { role_setting } from '../../postgres/read-only-session.ts'
import { master_database, master_role, pooler_role } from '../../postgres/names.ts'

/** PostgreSQL's value after an interrupted DROP DATABASE. */
const invalid_limit = -2
const names_max = 3

/** Throws a TenantSetback when there is no such database and the tenant can make one. */
export async function ensureMasterDatabase(effect: Effect, client: pg.Client, events: ObservedEvent[]): Promise<void> {
  const database = await readDatabase(client)
  if (database.limit === null || database.limit === invalid_limit)
    return await ensureMade(effect, client, database.limit)
  const undoing = undoingOf(database)
  for (const { sql } of undoing) {
    await effect('master database: let in')
    for (const statement of sql) await client.query(statement)
  }
  for (const { what } of undoing.filter(({ locked_out }) => locked_out)) {
    const message = `a login as ${master_role} works again: ${what}`
    events.push({ kind: 'healed', message })
  }
}

type Database = {
  /** Null: there is none. */
  limit: number | null
  open: boolean
  may_connect: boolean
  pooler_may_connect: boolean | null
  preloads: boolean
  reads_only: boolean
}

async function readDatabase(client: pg.Client): Promise<Database> {
  const { rows } = await client.query<Database>(
    `select d.datconnlimit as limit, d.datallowconn as open,
       pg_catalog.has_database_privilege(r.oid, d.oid, 'connect') as may_connect,
       pg_catalog.has_database_privilege(p.oid, d.oid, 'connect') as pooler_may_connect,
       ${isSetSql('local_preload_libraries')} as preloads, ${isSetSql(role_setting)} as reads_only
     from pg_catalog.pg_authid r
       left join pg_catalog.pg_database d on d.datname = $2
       left join pg_catalog.pg_authid p on p.rolname = $3
     where r.rolname = $1`,
    [master_role, master_database, pooler_role],
  )
  return (
    rows[0] ?? {
      limit: null,
      open: false,
      may_connect: false,
      pooler_may_connect: null,
      preloads: false,
      reads_only: false,
    }
  )
}

const isSetSql = (name: string) =>
  `exists (select from pg_catalog.pg_db_role_setting s, pg_catalog.unnest(s.setconfig) setting
           where s.setdatabase in (0, d.oid) and s.setrole in (0, r.oid)
             and pg_catalog.starts_with(pg_catalog.lower(setting), '${name}='))`

/** For the database, for the role, and for both. */
const resetSql = (name: string) =>
  [
    `database ${master_database}`,
    `role ${master_role}`,
    `role ${master_role} in database ${master_database}`,
    `role all in database ${master_database}`,
  ].map((of) => `alter ${of} reset ${name}`)

/** `locked_out`: the tenant could not log in. */
type Undoing = { what: string; sql: readonly string[]; locked_out: boolean }

/** Pure. */
function undoingOf({ limit, open, may_connect, pooler_may_connect, preloads, reads_only }: Database): Undoing[] {
  const database = `the database ${master_database}`
  const all: (Undoing & { needed: boolean })[] = [
    {
      needed: limit === 0,
      what: `${database} had a connection limit of 0`,
      sql: [`alter database ${master_database} connection limit -1`],
      locked_out: true,
    },
    {
      needed: !open,
      what: `${database} allowed no connections`,
      sql: [`alter database ${master_database} allow_connections true`],
      locked_out: true,
    },
    {
      needed: !may_connect,
      what: `the right to connect to ${database} was revoked`,
      sql: [`grant connect on database ${master_database} to ${master_role}`],
      locked_out: true,
    },
    {
      needed: pooler_may_connect === false,
      what: `the pooler's right to connect to ${database} was revoked`,
      sql: [`grant connect on database ${master_database} to ${pooler_role}`],
      locked_out: false,
    },
    {
      // A login fails when one of the libraries is missing; a session can still load libraries by itself.
      needed: preloads,
      what: `local_preload_libraries was set for ${database} or the role ${master_role}`,
      sql: resetSql('local_preload_libraries'),
      locked_out: true,
    },
    {
      // Such a login is refused, because the master role can write.
      needed: reads_only,
      what: `${role_setting} was set for ${database} or the role ${master_role}`,
      sql: resetSql(role_setting),
      locked_out: true,
    },
  ]
  return all.filter(({ needed }) => needed)
}

/** Where the tenant has another database to log in to, the tenant decides what the missing one becomes. */
async function ensureMade(effect: Effect, client: pg.Client, limit: number | null): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select pg_catalog.quote_ident(d.datname) as name
     from pg_catalog.pg_database d join pg_catalog.pg_roles r on r.rolname = $1
     where d.datallowconn and not d.datistemplate and d.datconnlimit not in (0, ${invalid_limit})
       and pg_catalog.has_database_privilege(r.oid, d.oid, 'connect') order by d.datdba = r.oid desc, d.oid limit $2`,
    [master_role, names_max],
  )
  if (rows.length > 0)
    throw new TenantSetback(
      missingSentence(
        rows.map(({ name }) => name),
        limit,
      ),
    )
  await effect('master database: make')
  if (limit !== null) await client.query(`drop database ${master_database}`)
  await client.query(`create database ${master_database} owner ${master_role}`)
}

function missingSentence(names: readonly string[], limit: number | null): string {
  const here = `as ${master_role} in another database (there is ${names.join(', ')})`
  if (limit === invalid_limit) {
    return `a drop of the database ${master_database} was interrupted; run ${here}: drop database ${master_database}, then create database ${master_database}`
  }
  return `there is no database ${master_database}: it was renamed or dropped; run ${here}: alter database … rename to ${master_database}, or create database ${master_database}`
}
