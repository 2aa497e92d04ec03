// A metadata store for tests that need no server: the embedded one on a fresh data directory, with databases to spare.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Db, openDb } from '#server/store/db.ts'
import { newId } from '#server/id.ts'
import { openInstallation } from '#server/installation.ts'
import { newLog } from '#server/log.ts'
import { ensureMetadataStore, stopMetadataStore, type StorePlace } from '#server/store/embedded.ts'
import { getStoreBin } from '#server/store/access.ts'
import { migrate } from '#server/store/migrate.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { seedPrograms, seedStore } from '#test/seed.ts'
import { pidIn } from '#test/traces.ts'

export type TestStore = {
  place: StorePlace
  /** Of the database `postgres`. */
  url: string
  /** Makes an empty database and returns its URL. */
  newDatabase(): Promise<string>
  postmasterPid(): number
  stopPostgres(): Promise<void>
  startPostgres(): Promise<void>
  /** Ends everything and removes the data. */
  stop(): Promise<void>
}

/** No watch restarts it: a test that stops or kills it starts it again. */
export async function startTestStore(): Promise<TestStore> {
  const data_dir = newDataDir()
  try {
    await seedStore(join(data_dir, 'store'))
    await seedPrograms(join(data_dir, 'local'))
    const installation = await openInstallation(data_dir)
    const log = newLog(process.env['TEST_LOG_LEVEL'] ?? 'silent')
    const place = { directory: installation.store_directory, bin: await getStoreBin(installation), log }
    const startPostgres = async () => {
      const store = await ensureMetadataStore(place)
      await store.close()
      return store.url
    }
    const url = await startPostgres()
    return {
      place,
      url,
      newDatabase: () => withDb(url, (db) => newDatabase(db, url)),
      postmasterPid: () => pidIn(readFileSync(join(place.directory, 'data', 'postmaster.pid'), 'utf8')),
      stopPostgres: () => stopMetadataStore(place),
      startPostgres: async () => void (await startPostgres()),
      stop: () => removeDataDir(data_dir),
    }
  } catch (error) {
    await removeDataDir(data_dir)
    throw error
  }
}

/** A database that has the schema, in a store of its own. */
export async function openTestDb(): Promise<Db & { store: TestStore }> {
  const store = await startTestStore()
  const db = openDb(await store.newDatabase())
  const close = async () => {
    await db.close()
    await store.stop()
  }
  try {
    await migrate(db)
    return { ...db, store, close }
  } catch (error) {
    await close()
    throw error
  }
}

export async function withDb<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
  const db = openDb(url)
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

async function newDatabase(db: Db, url: string): Promise<string> {
  const name = `test_${newId()}`
  await db.query(`create database ${name}`)
  return url.replace('/postgres?', `/${name}?`)
}
