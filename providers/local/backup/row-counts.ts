// How many rows some tables of a service have, to compare a restored copy with it. The service goes on meanwhile, so each table is counted
// before the copy's moment and after it: only a table without a change in between can show that the copy differs.
import { setTimeout as pause } from 'node:timers/promises'
import type { Node } from '../host/layout.ts'
import { majorOf } from '../postgres/data-directory.ts'
import { withSuperuser } from '../postgres/superuser.ts'

type Counted = { rows: string; changes: string }

/** By database and table, as an SQL name. */
export type RowCounts = ReadonlyMap<string, ReadonlyMap<string, Counted>>

/** Of each database; larger ones would keep the service busy. */
const tables_max = 20
const table_pages_max = 8_192
const statement_timeout_ms = 10_000
/** After so long a backend has told what it changed. */
const told_ms = 11_000

/** A sample of the tables of each database. A table that cannot be counted at once is left out. */
export async function countRows(node: Node): Promise<RowCounts> {
  return await inEachDatabase(node, async (client) => {
    const { rows } = await client.query<{ name: string }>(sample_query)
    return rows.map(({ name }) => name)
  })
}

/** The same tables, as far as they are there. */
export async function recountRows(node: Node, counts: RowCounts): Promise<RowCounts> {
  return await inEachDatabase(node, async (_client, database) => [...(counts.get(database)?.keys() ?? [])])
}

/** The first table of the copy that differs, as a sentence. `recount`: counts in the service again. */
export async function differenceOf(
  before: RowCounts,
  copy: RowCounts,
  recount: () => Promise<RowCounts>,
): Promise<string | undefined> {
  const found = firstDifference(before, copy, await recount())
  if (found === undefined) return undefined
  await pause(told_ms, undefined, { ref: false })
  return firstDifference(before, copy, await recount())
}

/** Pure. */
export function firstDifference(before: RowCounts, copy: RowCounts, after: RowCounts): string | undefined {
  for (const [database, tables] of before) {
    for (const [name, { rows, changes }] of tables) {
      const now = after.get(database)?.get(name)
      if (now?.rows !== rows || now.changes !== changes) continue
      const restored = copy.get(database)?.get(name)?.rows
      if (restored === rows) continue
      return `database ${database}: ${name} has ${rows} rows, and ${restored ?? 'none of them'} when restored`
    }
  }
  return undefined
}

type Client = Parameters<Parameters<typeof withSuperuser>[2]>[0]

async function inEachDatabase(
  node: Node,
  tablesOf: (client: Client, database: string) => Promise<string[]>,
): Promise<RowCounts> {
  const major = await majorOf(node)
  const databases = await withSuperuser(node, {}, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select datname::text as name from pg_catalog.pg_database where datallowconn and not datistemplate order by 1`,
    )
    return rows.map(({ name }) => name)
  })
  const counts = new Map<string, Map<string, Counted>>()
  for (const database of databases) {
    const counted = await withSuperuser(
      node,
      { database, statement_timeout_ms, ...(major && { major }) },
      async (client) => {
        const tables = new Map<string, Counted>()
        for (const name of await tablesOf(client, database)) {
          const found = await count(client, name).catch(() => undefined)
          if (found) tables.set(name, found)
        }
        return tables
      },
    )
    counts.set(database, counted)
  }
  return counts
}

/** The name is the server's own, quoted by it. */
async function count(client: Client, name: string): Promise<Counted | undefined> {
  const { rows } = await client.query<Counted>(
    `select (select pg_catalog.count(*) from only ${name})::text as rows,
       (pg_catalog.pg_stat_get_tuples_inserted(oid) + pg_catalog.pg_stat_get_tuples_updated(oid)
         + pg_catalog.pg_stat_get_tuples_deleted(oid))::text as changes
     from (select $1::pg_catalog.regclass::pg_catalog.oid as oid) as named`,
    [name],
  )
  return rows[0]
}

const sample_query = `
  select pg_catalog.format('%I.%I', n.nspname, c.relname) as name
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and c.relpersistence = 'p' and c.oid >= 16384 and c.relpages <= ${table_pages_max}
  order by pg_catalog.random() limit ${tables_max}`
