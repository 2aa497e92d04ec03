// The way to the metadata store that the configuration names, for the server and for the command line alike: the
// embedded one is started when it is not there, any one is waited for (bounded) and brought to the current schema.
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { messageOf } from '#providers/host/message.ts'
import { findStoreBin } from '#providers/store-program.ts'
import type { Config } from '../config.ts'
import { type Db, openDb, storeIsUnreachable } from './db.ts'
import { sql } from './sql.ts'
import type { Installation } from '../installation.ts'
import type { Log } from '../log.ts'
import { ensureMetadataStore } from './embedded.ts'
import { migrate } from './migrate.ts'

type StoreAccess = {
  db: Db
  kind: 'embedded' | 'external'
  /** Closes the connections. An embedded store goes on running. */
  close(): Promise<void>
}

/** PostgreSQL's, as a search of this process has found them; absent: they are searched. */
type Programs = Parameters<typeof findStoreBin>[1]

type StoreOptions = {
  programs?: Programs
  /** Told once, where the store does not answer at first. */
  onWait?: ((reason: string) => void) | undefined
}

const patience_seconds = 60
const retry_ms = 250
const tell_every_ms = 5_000

export async function openStore(
  config: Config,
  installation: Installation,
  log: Log,
  options: StoreOptions = {},
): Promise<StoreAccess> {
  const store = await openAnyStore(config, installation, log, options)
  try {
    const run = await migrate(store.db)
    if (run.length > 0) log.info({ migrations: run }, 'metadata store migrated')
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** The same, whatever schema it has. */
export async function openAnyStore(
  config: Config,
  installation: Installation,
  log: Log,
  { programs, onWait }: StoreOptions = {},
): Promise<StoreAccess> {
  const kind = config.database_url === undefined ? 'embedded' : 'external'
  const store =
    config.database_url === undefined
      ? await ensureMetadataStore({
          directory: installation.store_directory,
          bin: await getStoreBin(installation, programs),
          log,
        })
      : { url: config.database_url, close: async () => {} }
  const db = openDb(store.url)
  const close = async () => {
    await db.close()
    await store.close()
  }
  try {
    await waitFor(db, log, onWait)
    return { db, kind, close }
  } catch (error) {
    await close()
    throw error
  }
}

export async function getStoreBin({ local_directory }: Installation, programs?: Programs): Promise<string> {
  const bin = await findStoreBin(local_directory, programs)
  if (bin !== undefined) return bin
  throw new Error(
    `there is no PostgreSQL for the embedded metadata store: the bundled one is missing or cannot be run from ${join(local_directory, '..')}; repeat the installation, or name a PostgreSQL in DATABASE_URL`,
  )
}

async function waitFor(db: Db, log: Log, onWait: StoreOptions['onWait']): Promise<void> {
  const started = performance.now()
  let told_at = -Infinity
  for (;;) {
    try {
      await db.query(sql`select 1`)
      return
    } catch (error) {
      const reason = messageOf(error)
      const now = performance.now()
      if (!storeIsUnreachable(error) || now - started > patience_seconds * 1000) {
        throw new Error(`the metadata store cannot be used: ${reason}; check DATABASE_URL and that PostgreSQL runs`, {
          cause: error,
        })
      }
      if (now - told_at > tell_every_ms) {
        log.warn({ reason }, 'waiting for the metadata store')
        if (told_at < 0) onWait?.(reason)
        told_at = now
      }
      await pause(retry_ms)
    }
  }
}
