// The metadata store as text, all of one moment, and back into an empty store of the same schema. PostgreSQL itself turns rows into JSON
// and back, so no type is lost, and any store will do: the embedded one has no pg_dump. Rows come page by page, and of tables that only grow
// those since the last closed file, so that a copy costs little however large the store is.
// Left out is what the next server finds by itself: the queue, measurements, when a service was last observed. And what would be valid again
// although it was ended since: logins, links that set a password, keys that sign.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import type { Db, Sql } from '../store/db.ts'
import { loadMigrations, migrate } from '../store/migrate.ts'
import { sql } from '../store/sql.ts'
import {
  type ClosedFile,
  listClosed,
  listRows,
  readRows,
  removeClosed,
  removeOthers,
  writeClosed,
  writeOpen,
} from './metadata-files.ts'

const found_anew = ['work', 'service_metrics', 'login_attempts']
const logins = ['oauth_records', 'oauth_keys', 'console_sessions', 'password_links']
const left_out = new Set([...found_anew, ...logins])
/** Each of their rows has an id and a time, and none is changed. */
const growing = ['audit', 'service_events']
const rows_per_page = 500
/** About a megabyte, which is as much as is written anew in each round. */
const rows_per_file = 5_000
/** No transaction is open for longer: each row with an id before that of a row of this age is there, or never will be. */
const settled_after = '1 hour'
const longer = { patience_ms: 600_000 }
/** Ids that were given since the copy are not given again. */
const sequence_slack = 1_000

/** Writes the files that differ from those in the folder. */
export async function dumpMetadata(db: Db, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const dump = async (tx: Sql) => {
    await tx.query(sql`set transaction isolation level repeatable read, read only`)
    const names: string[] = []
    for (const table of await listCopied(tx)) names.push(...(await dumpTable(tx, table, folder)))
    return names
  }
  await removeOthers(folder, await db.transaction(dump, longer))
}

/** Brings an empty store to the schema of the copy and fills it. Repeated, it does the same again. */
export async function loadMetadata(db: Db, folder: string): Promise<void> {
  const rows = await listRows(folder, 'migrations')
  const applied = rows.map((row) => (JSON.parse(row) as { name: string }).name)
  const known = await loadMigrations()
  const unknown = applied.find((name) => !known.some((migration) => migration.name === name))
  if (unknown !== undefined) {
    throw new Error(
      `the backup is of a newer Howdah, which has had the migration ${unknown}; restore with that version`,
    )
  }
  await migrate(
    db,
    known.filter(({ name }) => applied.includes(name)),
  )
  await db.transaction(async (tx) => {
    const tables = inOrder((await listCopied(tx)).filter(({ name }) => name !== 'migrations'))
    // Triggers do not matter, because the rows were right when they were copied. The owner of the tables may say so, as any role.
    for (const { name } of tables) await tx.query(`alter table ${name} disable trigger user`)
    for (const { name } of tables.toReversed()) await tx.query(`delete from ${name}`)
    for (const { name } of tables) await insertRows(tx, name, readRows(folder, name))
    for (const { name } of tables) await tx.query(`alter table ${name} enable trigger user`)
    await raiseSequences(tx)
    // What runs is observed anew; what the queue holds follows from the rest when a server starts.
    await tx.query(sql`update services set state = 'not_serving', restorable_from = null, restorable_until = null
      where settled_generation > 0`)
  }, longer)
}

/** `name` and `key`, its columns, are those of the catalog, quoted there. `needs`: the tables that its foreign keys lead to. */
type Table = { name: string; key: string | null; needs: string[] }

async function listCopied(tx: Sql): Promise<Table[]> {
  const tables = await tx.query(sql<Table>`
    select quote_ident(relname) as name, (
      select string_agg(quote_ident(attname), ', ' order by place) from pg_index
      join unnest(indkey) with ordinality as part (attnum, place) on true
      join pg_attribute on attrelid = indrelid and pg_attribute.attnum = part.attnum
      where indrelid = pg_class.oid and indisprimary) as key, array(
      select quote_ident(needed.relname) from pg_constraint join pg_class needed on needed.oid = confrelid
      where conrelid = pg_class.oid and contype = 'f') as needs
    from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace order by 1`)
  return tables.filter(({ name }) => !left_out.has(name))
}

/** Each after those that it needs. Left-out tables are needed by none that is copied, and none needs itself. Pure. */
function inOrder(tables: readonly Table[]): Table[] {
  const ordered: Table[] = []
  while (ordered.length < tables.length) {
    const isThere = (name: string) => ordered.some((one) => one.name === name)
    const next = tables.find(({ name, needs }) => !isThere(name) && needs.every(isThere))
    assert(next, 'foreign keys lead in a circle')
    ordered.push(next)
  }
  return ordered
}

const row_text = `(to_jsonb(t) - '{observed_at,drill_lease_until}'::text[])::text as row`

/** Returns the names of its files. */
async function dumpTable(tx: Sql, { name, key }: Table, folder: string): Promise<string[]> {
  const grows = growing.includes(name)
  const closed = grows ? await closedOf(tx, name, folder) : []
  const is_settled = grows ? `time < now() - interval '${settled_after}'` : 'false'
  const after = grows ? `where id > ${closed.at(-1)?.last_id ?? 0}` : ''
  // By the text of the row only where there is no key: to sort a large table by it takes longer than the rest.
  await tx.query(`declare rows no scroll cursor for
    select ${row_text}, ${is_settled} as is_settled, ${grows ? 'id' : '0'} as id from ${name} t ${after} order by ${key ?? '1'}`)
  let lines: string[] = []
  for (;;) {
    const page = await tx.query<{ row: string; is_settled: boolean; id: number }>(`fetch ${rows_per_page} from rows`)
    for (const { row, is_settled, id } of page) {
      lines.push(`${row}\n`)
      if (!is_settled || lines.length < rows_per_file) continue
      closed.push(await writeClosed(folder, name, id, lines))
      lines = []
    }
    if (page.length === 0) break
  }
  await tx.query('close rows')
  return [...closed.map((file) => file.name), await writeOpen(folder, name, lines)]
}

/** The closed files that can stay: not when they are of another past of the store, and not for ever, because rows have been removed since. */
async function closedOf(tx: Sql, name: string, folder: string): Promise<ClosedFile[]> {
  const { closed, last_row, is_old } = await listClosed(folder, name)
  const id = closed.at(-1)?.last_id
  if (id === undefined) return []
  const [found] = await tx.query<{ row: string }>(`select ${row_text} from ${name} t where id = $1`, [id])
  if (found?.row === last_row && !is_old) return closed
  await removeClosed(folder, closed)
  return []
}

async function insertRows(tx: Sql, table: string, rows: AsyncIterable<string>): Promise<void> {
  const insert = (some: readonly string[]) =>
    tx.query(
      `insert into ${table} overriding system value select * from jsonb_populate_recordset(null::${table}, $1::jsonb)`,
      [`[${some.join(',')}]`],
    )
  let some: string[] = []
  for await (const row of rows) {
    if (some.push(row) < rows_per_page) continue
    await insert(some)
    some = []
  }
  await insert(some)
}

async function raiseSequences(tx: Sql): Promise<void> {
  const columns = await tx.query(sql<{ table: string; column: string }>`
    select attrelid::regclass::text as "table", attname::text as "column" from pg_attribute
    join pg_class on pg_class.oid = attrelid
    where attidentity <> '' and relnamespace = current_schema()::regnamespace`)
  for (const { table, column } of columns) {
    await tx.query(
      `select setval(pg_get_serial_sequence($1, $2), coalesce(max(${column}), 0) + $3::int) from ${table}`,
      [table, column, sequence_slack],
    )
  }
}

/** What a restore needs to know of a service of the copy. removed: deleted, and not kept. */
export type ServiceOfCopy = { service_id: string; name: string; region_code: string; port: number; removed: boolean }

export async function servicesOfCopy(folder: string): Promise<ServiceOfCopy[]> {
  type Row = {
    service_id: string
    name: string
    region_code: string
    deleted_at: string | null
    kept_until?: string | null
  }
  type Address = { owner_id: string; role: string; vpc_id: number | null; port: number }
  // Both as our own tables have them.
  const services = (await listRows(folder, 'services')).map((row) => JSON.parse(row) as Row)
  const addresses = (await listRows(folder, 'addresses')).map((row) => JSON.parse(row) as Address)
  return services.map(({ service_id, name, region_code, deleted_at, kept_until }) => {
    const home = addresses.find((one) => one.owner_id === service_id && one.role === 'service' && one.vpc_id === null)
    return { service_id, name, region_code, port: home?.port ?? 0, removed: deleted_at !== null && !kept_until }
  })
}
