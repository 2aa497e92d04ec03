// Migrations and the first registration where several servers start at once.
import { shared } from '#test/shared.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migrate, MigrationError } from '#server/store/migrate.ts'
import { ensureRegion, ensureRegistration, RegionTaken } from '#server/registration.ts'
import { startTestStore, withDb } from './test-store.ts'

const store = shared(startTestStore)

const servers = [1, 2, 3, 4, 5]
const folder = join(import.meta.dirname, '../../server/store/migrations')
const all = readdirSync(folder)
  .toSorted()
  .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))

test('of several servers that start at once, each migration is run by exactly one', async () => {
  const url = await store.newDatabase()
  const runs = await Promise.all(servers.map(() => withDb(url, (db) => migrate(db))))
  const names = runs.flat()
  expect(names).toContain('0001-foundation.sql')
  expect(new Set(names).size).toBe(names.length)
  expect(await withDb(url, (db) => migrate(db))).toEqual([])
})

test('of several servers that start at once, one registers the first user and gets the token', async () => {
  const url = await store.newDatabase()
  await withDb(url, (db) => migrate(db))
  const registrations = await Promise.all(
    servers.map(() => withDb(url, (db) => ensureRegistration(db, 'admin@howdah.local'))),
  )
  expect(registrations.filter(({ first_token }) => first_token !== undefined)).toHaveLength(1)
  expect(new Set(registrations.map(({ project_id }) => project_id)).size).toBe(1)
})

test('a region belongs to the installation that named it first', async () => {
  const url = await store.newDatabase()
  await withDb(url, async (db) => {
    await migrate(db)
    await ensureRegion(db, 'local', 'aaaaaaaaaa')
    await ensureRegion(db, 'local', 'aaaaaaaaaa')
    await ensureRegion(db, 'other', 'bbbbbbbbbb')
    await expect(ensureRegion(db, 'local', 'bbbbbbbbbb')).rejects.toThrow(RegionTaken)
  })
})

test('what could be restored before moments were observed still can: from the oldest snapshot that stays and leads to now', async () => {
  const url = await store.newDatabase()
  await withDb(url, async (db) => {
    await migrate(
      db,
      all.filter(({ name }) => name < '0018'),
    )
    await db.query(`insert into projects (id, name) values ('project000', 'a project')`)
    const services = ['service001', 'service002', 'service003']
    for (const id of services) {
      await db.query(
        `insert into services (service_id, project_id, name, region_code, service_type, environment, password_verifier,
           source_service_id, source_strategy, source_snapshot_id)
         values ($1, 'project000', 'a service', 'local', 'POSTGRES', 'DEV', '', $2, $3, $4)`,
        id === 'service003' ? [id, 'service001', 'NOW', 'snapshot03'] : [id, null, null, null],
      )
    }
    await db.query(
      `insert into snapshots (snapshot_id, service_id, kind, taken_at, left_behind, deleted_at) values
         ('snapshot01', 'service001', 'initial', '2026-03-01Z', false, now()),
         ('snapshot02', 'service001', 'scheduled', '2026-03-02Z', true, null),
         ('snapshot03', 'service001', 'fork', '2026-03-03Z', false, null),
         ('snapshot04', 'service001', 'scheduled', '2026-03-04Z', false, null),
         ('snapshot05', 'service001', 'now', '2026-03-05Z', false, null),
         ('snapshot06', 'service002', 'initial', null, false, null)`,
    )
    await migrate(db, all)
    const windows = await db.query<{ restorable_from: Date | null; restorable_until: Date | null }>(
      `select restorable_from, restorable_until from services order by service_id`,
    )
    expect(windows.map((row) => row.restorable_from)).toEqual([new Date('2026-03-04Z'), null, null])
    expect(windows.every((row) => row.restorable_until === null)).toBe(true)
    expect(await db.query(`select key from work where kind = 'service' and due_at <= now()`)).toEqual([
      { key: 'service001' },
    ])
    expect(await db.query(`select snapshot_id from snapshots where snapshot_id = 'snapshot03'`)).toEqual([])
  })
})

test('the first user of a version before gets an address with a domain, and keeps everything else', async () => {
  const url = await store.newDatabase()
  await withDb(url, async (db) => {
    await migrate(
      db,
      all.filter(({ name }) => name < '0020'),
    )
    await db.query(`insert into users (email, name) values ('admin@localhost', 'root'), ('ada@example.com', 'Ada')`)
    await migrate(db, all)
    expect(await db.query('select email, name from users order by id')).toEqual([
      { email: 'admin@howdah.local', name: 'root' },
      { email: 'ada@example.com', name: 'Ada' },
    ])
  })
})

const first = { name: '0001-a.sql', text: 'create table a (x int); insert into a values (1)' }
const second = { name: '0002-b.sql', text: 'create table b (x int)' }

test('a migration that was edited after it ran is refused by name, and nothing is run', async () => {
  const url = await store.newDatabase()
  await withDb(url, async (db) => {
    await migrate(db, [first])
    const edited = { ...first, text: 'create table a (x bigint)' }
    await expect(migrate(db, [edited, second])).rejects.toThrow(MigrationError)
    await expect(migrate(db, [edited, second])).rejects.toThrow('0001-a.sql was edited')
    expect(await migrate(db, [first, second])).toEqual(['0002-b.sql'])
  })
})

test('a store that is newer than the code is refused', async () => {
  const url = await store.newDatabase()
  await withDb(url, async (db) => {
    await migrate(db, [first, second])
    await expect(migrate(db, [first])).rejects.toThrow('newer than this server: it has had the migration 0002-b.sql')
  })
})

test('a migration that fails leaves nothing behind and can be repeated', async () => {
  const url = await store.newDatabase()
  await withDb(url, async (db) => {
    const broken = { ...second, text: 'create table b (x int); select 1 / 0' }
    await expect(migrate(db, [first, broken])).rejects.toThrow('division by zero')
    expect(await migrate(db, [first, second])).toEqual(['0002-b.sql'])
  })
})
