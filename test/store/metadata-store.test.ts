// The embedded metadata store: closed to strangers, started once, found again.
import { shared } from '#test/shared.ts'
import { spawn } from 'node:child_process'
import { chownSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { openInstallation } from '#server/installation.ts'
import { ensureMetadataStore } from '#server/store/embedded.ts'
import { listPids, newDataDir, removeDataDir } from '#test/data-dir.ts'
import { until } from '#test/until.ts'
import { startTestStore, withDb } from './test-store.ts'

// One store for all: every test leaves it running.
const store = shared(startTestStore)

const answers = () => withDb(store.url, (db) => db.query('select 1'))
const insertRow = () => withDb(store.url, (db) => db.query('create table if not exists kept as select 1 as x'))
const findRow = () => withDb(store.url, (db) => db.query('select x from kept'))

test('the store has no network address, and only its own user can enter its folders', async () => {
  const [row] = await withDb(store.url, (db) => db.query<{ listen_addresses: string }>('show listen_addresses'))
  expect(row?.listen_addresses).toBe('')
  for (const folder of ['data', 'run']) {
    const { mode, uid } = statSync(join(store.place.directory, folder))
    expect(mode & 0o777).toBe(0o700)
    expect(uid).toBe(process.getuid?.() === 0 ? 70_000 : process.getuid?.())
  }
})

test('the store never trades durability for speed', async () => {
  const settings = await withDb(store.url, (db) =>
    db.query(`select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', 'full_page_writes')`),
  )
  expect(settings).toHaveLength(3)
  for (const setting of settings) expect(setting).toHaveProperty('setting', 'on')
})

test('a store that outlived its server is adopted, not started again', async () => {
  const pid = store.postmasterPid()
  await store.startPostgres()
  expect(store.postmasterPid()).toBe(pid)
})

test('a killed store is started again by its watch, with everything committed', async () => {
  await insertRow()
  const watched = await ensureMetadataStore(store.place)
  try {
    const pid = store.postmasterPid()
    process.kill(pid, 'SIGKILL')
    await until(() => store.postmasterPid() !== pid)
    expect(await until(findRow)).toEqual([{ x: 1 }])
  } finally {
    await watched.close()
  }
})

test('a store that another program told to stop does not wait for the sessions of servers', async () => {
  const watched = await ensureMetadataStore(store.place)
  const session = new pg.Client(store.url)
  session.on('error', () => undefined)
  try {
    await session.connect()
    const pid = store.postmasterPid()
    process.kill(pid, 'SIGTERM')
    await until(() => store.postmasterPid() !== pid, { what: 'the store is started again' })
    await until(answers)
  } finally {
    await session.end().catch(() => undefined)
    await watched.close()
  }
})

test('servers that find the store stopped at once start exactly one', async () => {
  await store.stopPostgres()
  expect(listPids(store.place.directory)).toEqual([])
  await Promise.all([store.startPostgres(), store.startPostgres(), store.startPostgres()])
  await answers()
})

test('servers that find no store at once make exactly one, also under a strict umask, and nothing is left aside', async () => {
  const data_dir = newDataDir()
  const umask = process.umask(0o077)
  try {
    const { store_directory: directory } = await openInstallation(data_dir)
    const stores = await Promise.all([1, 2, 3].map(() => ensureMetadataStore({ ...store.place, directory })))
    await Promise.all(stores.map((one) => one.close()))
    expect(new Set(stores.map(({ url }) => url)).size).toBe(1)
    const left = readdirSync(directory).filter((name) => name.startsWith('new-'))
    expect(left).toEqual([])
  } finally {
    process.umask(umask)
    await removeDataDir(data_dir)
  }
})

test.each(['data/postmaster.pid', 'run/.s.PGSQL.5432.lock'])(
  'a lock file %s that names a stranger, or was left empty, does not keep the store from starting',
  async (name) => {
    const lock = join(store.place.directory, name)
    const stranger = spawn('sleep', ['600'], { ...ownerOf(join(store.place.directory, 'data')), stdio: 'ignore' })
    try {
      await store.stopPostgres()
      writeFileSync(lock, `${stranger.pid}\n/nowhere\n1\n5432\n\n\n\nready\n`)
      await store.startPostgres()
      await answers()

      await store.stopPostgres()
      writeFileSync(lock, '')
      utimesSync(lock, 0, 0)
      await store.startPostgres()
      await answers()
    } finally {
      stranger.kill('SIGKILL')
    }
  },
)

test('what a killed initdb left aside is removed by the next start', async () => {
  const dead_pid = 2 ** 30
  mkdirSync(join(store.place.directory, `new-${dead_pid}-7-x`, 'data'), { recursive: true })
  await store.startPostgres()
  expect(readdirSync(store.place.directory).filter((name) => name.startsWith('new-'))).toEqual([])
})

const why = process.getuid?.() === 0 ? '' : ' (skipped: only root can give files away)'

test.skipIf(why)(`a store whose copy has lost its owner is refused at once, with the remedy${why}`, async () => {
  const data = join(store.place.directory, 'data')
  const { uid, gid } = ownerOf(data)
  await store.stopPostgres()
  chownSync(data, 0, 0)
  try {
    const remedy =
      'belongs to the user 0 and not to 70000; copy the data directory again with its owners and modes (cp -a)'
    await expect(store.startPostgres()).rejects.toThrow(remedy)
  } finally {
    chownSync(data, uid, gid)
    await store.startPostgres()
  }
})

/** PostgreSQL takes a lock seriously only when the process in it runs as its own user. */
function ownerOf(path: string): { uid: number; gid: number } {
  const { uid, gid } = statSync(path)
  return { uid, gid }
}
