// The metadata store as text: a file for each table, a row of JSON on each line, all of one moment, and back into an empty store of the
// same schema. PostgreSQL itself turns rows into JSON and back, so no type is lost, and any store will do: the embedded one has no pg_dump.
// Left out is what the next server finds by itself: the queue, measurements, when a service was last observed.
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db, Sql } from '../store/db.ts'
import { loadMigrations, migrate } from '../store/migrate.ts'
import { sql } from '../store/sql.ts'

const left_out = ['work', 'service_metrics']
const rows_per_insert = 500
const longer = { patience_ms: 600_000 }
/** Ids that were given since the copy are not given again. */
const sequence_slack = 1_000

/** Writes the files that differ from those in the folder. */
export async function dumpMetadata(db: Db, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const tables = await db.transaction(async (tx) => {
    await tx.query(sql`set transaction isolation level repeatable read, read only`)
    const texts = new Map<string, string>()
    for (const table of await listTables(tx)) {
      if (!left_out.includes(table)) texts.set(`${table}.jsonl`, await dumpTable(tx, table))
    }
    return texts
  }, longer)
  for (const name of await readdir(folder)) if (!tables.has(name)) await rm(join(folder, name), { force: true })
  for (const [name, text] of tables) {
    const path = join(folder, name)
    if ((await readFile(path, 'utf8').catch(() => undefined)) === text) continue
    await writeFile(`${path}.new`, text, { mode: 0o600, flush: true })
    await rename(`${path}.new`, path)
  }
}

/** Brings an empty store to the schema of the copy and fills it. Repeated, it does the same again. */
export async function loadMetadata(db: Db, folder: string): Promise<void> {
  const applied = (await readRows(folder, 'migrations')).map((row) => (JSON.parse(row) as { name: string }).name)
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
    // Neither the order of tables nor triggers matter: the rows were right when they were copied.
    await tx.query(sql`set local session_replication_role = replica`)
    for (const table of (await listTables(tx)).filter((name) => name !== 'migrations')) {
      await tx.query(`delete from ${table}`)
      await insertRows(tx, table, await readRows(folder, table))
    }
    await raiseSequences(tx)
    // What runs is observed anew; what the queue holds follows from the rest when a server starts.
    await tx.query(sql`update services set state = 'not_serving', restorable_from = null, restorable_until = null
      where settled_generation > 0`)
  }, longer)
}

async function listTables(tx: Sql): Promise<string[]> {
  const rows = await tx.query(sql<{ name: string }>`
    select quote_ident(relname) as name from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace order by 1`)
  return rows.map(({ name }) => name)
}

/** Table names are those of the catalog, quoted there. */
async function dumpTable(tx: Sql, table: string): Promise<string> {
  const rows = await tx.query<{ row: string }>(
    `select (to_jsonb(t) - '{observed_at,drill_lease_until}'::text[])::text as row from ${table} t order by 1`,
  )
  return rows.map(({ row }) => `${row}\n`).join('')
}

async function readRows(folder: string, table: string): Promise<string[]> {
  const text = await readFile(join(folder, `${table}.jsonl`), 'utf8').catch(() => '')
  return text.split('\n').filter(Boolean)
}

async function insertRows(tx: Sql, table: string, rows: readonly string[]): Promise<void> {
  for (let at = 0; at < rows.length; at += rows_per_insert) {
    const some = `[${rows.slice(at, at + rows_per_insert).join(',')}]`
    await tx.query(
      `insert into ${table} overriding system value select * from jsonb_populate_recordset(null::${table}, $1::jsonb)`,
      [some],
    )
  }
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
  const services = (await readRows(folder, 'services')).map((row) => JSON.parse(row) as Row)
  const addresses = (await readRows(folder, 'addresses')).map((row) => JSON.parse(row) as Address)
  return services.map(({ service_id, name, region_code, deleted_at, kept_until }) => {
    const home = addresses.find((one) => one.owner_id === service_id && one.role === 'service' && one.vpc_id === null)
    return { service_id, name, region_code, port: home?.port ?? 0, removed: deleted_at !== null && !kept_until }
  })
}
