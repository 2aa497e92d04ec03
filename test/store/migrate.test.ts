// Migrations and the first registration where several servers start at once.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate, MigrationError } from '#server/store/migrate.ts'
import { ensureRegion, ensureRegistration, RegionTaken } from '#server/registration.ts'
import { startTestStore, type TestStore, withDb } from './test-store.ts'

let store: TestStore

beforeAll(async () => {
  store = await startTestStore()
})
afterAll(() => store?.stop())

const servers = [1, 2, 3, 4, 5]

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
  const registrations = await Promise.all(servers.map(() => withDb(url, ensureRegistration)))
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
