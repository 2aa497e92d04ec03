// Brings the metadata store to the schema that this code knows: server/store/migrations/*.sql in the order of their names,
// each exactly once, in a transaction of its own, under a lock that several starting servers share.
// Forward only. A store that knows a migration which this code does not, or knew another text of one, is refused.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { Db, Sql } from './db.ts'
import { sql } from './sql.ts'

type Migration = { name: string; text: string }

/** Why the store and the code do not fit; the message is for the operator. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

// Any fixed number: it only has to be the same for all servers and used for nothing else.
const migration_lock = 4_873_101
/** A long migration, also another server's, is worth waiting for, longer than any ordinary statement. */
const patience_ms = 30 * 60_000
const folder = new URL('./migrations/', import.meta.url)

/** Returns the names of the migrations that this call has run. */
export async function migrate(db: Db, migrations?: readonly Migration[]): Promise<string[]> {
  const known = migrations ?? (await loadMigrations())
  const run: string[] = []
  await locked(db, async (tx) => {
    await createMigrationsTable(tx)
    refuseUnlessFitting(await listApplied(tx), known)
  })
  for (const migration of known) {
    await locked(db, async (tx) => {
      const applied = await listApplied(tx)
      if (applied.some(({ name }) => name === migration.name)) return
      await tx.query(migration.text)
      await insertApplied(tx, migration)
      run.push(migration.name)
    })
  }
  return run
}

export async function loadMigrations(): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(new URL(name, folder), 'utf8') })))
}

function locked(db: Db, work: (tx: Sql) => Promise<void>): Promise<void> {
  const lockedWork = async (tx: Sql) => {
    await tx.query(sql`select pg_advisory_xact_lock(${migration_lock})`)
    await work(tx)
  }
  return db.transaction(lockedWork, { patience_ms })
}

type Applied = { name: string; hash: string }

function refuseUnlessFitting(applied: readonly Applied[], known: readonly Migration[]): void {
  for (const { name, hash } of applied) {
    const ours = known.find((migration) => migration.name === name)
    if (ours === undefined) {
      throw new MigrationError(
        `the metadata store is newer than this server: it has had the migration ${name}, which this version does not know; start the version that made it, or a later one`,
      )
    }
    if (hashOf(ours) !== hash) {
      throw new MigrationError(
        `the migration ${name} was edited after the metadata store had run it; restore its text and put the change into a new migration`,
      )
    }
  }
}

function hashOf(migration: Migration): string {
  return createHash('sha256').update(migration.text).digest('hex')
}

async function createMigrationsTable(tx: Sql): Promise<void> {
  await tx.query(sql`
    create table if not exists migrations (
      name text primary key,
      hash text not null,
      applied_at timestamptz not null default now()
    )`)
}

async function listApplied(tx: Sql): Promise<Applied[]> {
  return tx.query(sql<Applied>`select name, hash from migrations order by name`)
}

async function insertApplied(tx: Sql, migration: Migration): Promise<void> {
  await tx.query(sql`insert into migrations (name, hash) values (${migration.name}, ${hashOf(migration)})`)
}
