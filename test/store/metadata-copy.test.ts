// The copy of the metadata that backups keep: what a round writes anew, and that a store that is filled from it has the same rows.
import { shared } from '#test/shared.ts'
import { appendFileSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dumpMetadata, loadMetadata } from '#server/backup/metadata.ts'
import { keepOnly } from '#server/backup/restore-rows.ts'
import { newId } from '#server/id.ts'
import type { Db } from '#server/store/db.ts'
import { openTestDb, withDb } from './test-store.ts'

const db = shared(openTestDb)
let folder: string
const project_id = newId()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'howdah-copy-'))
  await db.query(`insert into projects (id, name) values ($1, 'a project')`, [project_id])
})

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** So many, all so many hours old. In their texts are signs that end a line for some readers of lines, and are none of ours to forbid. */
async function addEvents(count: number, hours: number): Promise<void> {
  await db.query(
    `insert into service_events (project_id, service_id, time, kind, message)
     select $1, 'aservice00', now() - $3 * interval '1 hour', 'progress', 'event ' || n || E'\\u2028and\\u2029more' from generate_series(1, $2::int) n`,
    [project_id, count, hours],
  )
}

const listEvents = (of: Db) => of.query(`select * from service_events order by id`)
const filesOf = (table: string) =>
  readdirSync(folder)
    .filter((name) => name.startsWith(`${table}.`))
    .sort()
const rowsIn = (name: string) => readFileSync(join(folder, name), 'utf8').split('\n').length - 1

/** The rows of a new store that was filled from the copy. */
async function loaded<Result>(list: (of: Db) => Promise<Result>): Promise<Result> {
  const url = await db.store.newDatabase()
  return withDb(url, async (other) => {
    await loadMetadata(other, folder)
    return list(other)
  })
}

test('events that have been there for a while are copied once, into files that stay', async () => {
  await addEvents(12_000, 2)
  await addEvents(10, 0)
  await dumpMetadata(db, folder)
  const files = filesOf('service_events')
  expect(files.map(rowsIn)).toEqual([5_000, 5_000, 2_010])
  const inodes = () => files.map((name) => statSync(join(folder, name)).ino)
  const before = inodes()
  await addEvents(1, 0)
  await dumpMetadata(db, folder)
  expect(filesOf('service_events')).toEqual(files)
  expect(inodes().slice(0, 2)).toEqual(before.slice(0, 2))
  expect(files.map(rowsIn)).toEqual([5_000, 5_000, 2_011])
  expect(await loaded(listEvents)).toEqual(await listEvents(db))
})

test('events of which one with a lower id may still come are not in a file that stays', async () => {
  const before = filesOf('service_events').length
  await addEvents(6_000, 0)
  await dumpMetadata(db, folder)
  expect(filesOf('service_events')).toHaveLength(before)
  expect(await loaded(listEvents)).toEqual(await listEvents(db))
})

test('what was removed leaves the copy within a week, and so does the past that a store has left', async () => {
  await db.query(`delete from service_events where message like 'event 2%'`)
  await dumpMetadata(db, folder)
  expect(await loaded(listEvents)).not.toEqual(await listEvents(db))
  const week_ago = new Date(Date.now() - 8 * 86_400_000)
  utimesSync(join(folder, filesOf('service_events')[0] ?? ''), week_ago, week_ago)
  await dumpMetadata(db, folder)
  expect(await loaded(listEvents)).toEqual(await listEvents(db))
  // As in a store that was set back: the same ids, other rows.
  await db.query(`update service_events set message = 'another'`)
  await dumpMetadata(db, folder)
  expect(await loaded(listEvents)).toEqual(await listEvents(db))
})

test('a copy of the version before, one file for each table, is loaded', async () => {
  await dumpMetadata(db, folder)
  const [one = '', ...others] = filesOf('service_events')
  for (const name of others) {
    appendFileSync(join(folder, one), readFileSync(join(folder, name)))
    rmSync(join(folder, name))
  }
  renameSync(join(folder, one), join(folder, 'service_events.jsonl'))
  expect(filesOf('service_events')).toEqual(['service_events.jsonl'])
  expect(await loaded(listEvents)).toEqual(await listEvents(db))
})

/** As a version before wrote it. */
function addRow(table: string, row: object): void {
  appendFileSync(join(folder, `${table}.jsonl`), `${JSON.stringify(row)}\n`)
}

test('logins are not copied, and do not come back from a copy that has them: they may have been ended since', async () => {
  const [user] = await db.query<{ id: number }>(
    `insert into users (email, name) values ('shop@example.com', 'shop') returning id`,
  )
  const later = new Date(Date.now() + 3_600_000).toISOString()
  const ending = { user_id: user?.id, expires_at: later }
  const rows = {
    password_links: { ...ending, token_hash: '\\x01' },
    console_sessions: { ...ending, id_hash: '01', grant_id: 'grant', sealed: '\\x01' },
    oauth_records: { ...ending, model: 'Session', id: '01', payload: {} },
    oauth_keys: { kid: '01', installation_id: 'here', public_jwk: {}, private_key: '\\x01', created: later },
  }
  const tables = Object.keys(rows)
  const count = async (of: Db) => {
    const counts = await Promise.all(tables.map((table) => of.query<{ n: number }>(`select count(*) n from ${table}`)))
    return counts.map(([row]) => row?.n)
  }
  for (const [table, row] of Object.entries(rows)) {
    await db.query(
      `insert into ${table} overriding system value select * from jsonb_populate_record(null::${table}, $1)`,
      [JSON.stringify(row)],
    )
  }
  expect(await count(db)).toEqual([1, 1, 1, 1])
  await dumpMetadata(db, folder)
  expect(tables.filter((table) => filesOf(table).length > 0)).toEqual([])
  for (const [table, row] of Object.entries(rows)) addRow(table, row)
  expect(await loaded(count)).toEqual([0, 0, 0, 0])
})

async function insertService(name: string, times: Record<string, string>): Promise<string> {
  const service_id = newId()
  const row = {
    service_id,
    project_id,
    name,
    region_code: 'here',
    service_type: 'POSTGRES',
    environment: 'DEV',
    ...times,
  }
  const columns = Object.keys(row)
  await db.query(
    `insert into services (password_verifier, ${columns.join()}) values ('', ${columns.map((_, at) => `$${at + 1}`).join()})`,
    Object.values(row),
  )
  return service_id
}

test('a restore tells which tokens work again, and nothing that came to its end since the copy is removed', async () => {
  const [hour_ago, day_on] = [new Date(Date.now() - 3_600_000), new Date(Date.now() + 86_400_000)]
  const ended = await insertService('ended', { expires_at: hour_ago.toISOString() })
  const ending = await insertService('ending', { expires_at: day_on.toISOString() })
  const deleted_at = hour_ago.toISOString()
  const kept = await insertService('kept', { deleted_at, kept_until: deleted_at, ended_at: deleted_at })
  const lost = await insertService('lost', {})
  await db.query(`insert into members (project_id, user_id, role) select $1, id, 'owner' from users`, [project_id])
  await db.query(
    `insert into tokens (public_key, secret_hash, name, project_id, user_id, expires_at)
     select key, '\\x01', made.name, $1, id, expires_at from users,
       (values ('revoked', 'for a machine', null), ('over', 'too old', now())) as made (key, name, expires_at)`,
    [project_id],
  )
  const restored = [ended, ending, kept].map((service_id) => ({
    service_id,
    snapshot_id: newId(),
    taken_at: hour_ago.toISOString(),
  }))
  const told = await keepOnly(db, { restored, moment: 'noon', kept_seconds: 7200 })
  const rows = await db.query<{ name: string; is_deleted: boolean; expires_at: Date | null; kept: boolean | null }>(
    `select name, deleted_at is not null as is_deleted, expires_at, kept_until > now() + interval '1 hour' as kept
     from services where project_id = $1 order by name`,
    [project_id],
  )
  expect(rows).toEqual([
    { name: 'ended', is_deleted: false, expires_at: null, kept: null },
    { name: 'ending', is_deleted: false, expires_at: day_on, kept: null },
    { name: 'kept', is_deleted: true, expires_at: null, kept: true },
    { name: 'lost', is_deleted: true, expires_at: null, kept: null },
  ])
  const message = `it was to expire at ${hour_ago.toISOString()}, before it was restored; it expires no more`
  const events = await db.query(`select message from service_events where service_id = $1 order by id`, [ended])
  expect(events).toEqual([{ message: 'restored from the backup, as of noon' }, { message }])
  expect(told).toEqual([
    `Service ${ended} (ended): ${message}.`,
    expect.stringMatching(/^Personal access tokens work again as of noon/),
    '  revoked  for a machine (shop@example.com)',
  ])
  expect(lost).not.toBe('')
})

test('an ordinary role, the owner of its database, can fill a store', async () => {
  await dumpMetadata(db, folder)
  const url = await db.store.newDatabase()
  const name = /\/(test_\w+)\?/.exec(url)?.[1] ?? expect.fail(url)
  await db.query(`create role ordinary login`)
  await db.query(`alter database ${name} owner to ordinary`)
  await withDb(`${url}&options=${encodeURIComponent('-c role=ordinary')}`, async (own) => {
    await loadMetadata(own, folder)
    expect(await listEvents(own)).toEqual(await listEvents(db))
    // What guards the rows of a store does so again.
    await own.query(`insert into audit (user_id, email, address, endpoint, method, path, status, request_id)
      values (1, '', '', '', '', '', 200, '')`)
    await expect(own.query('delete from audit')).rejects.toThrow('the audit log is append-only')
    // Repeated, it does the same again.
    await loadMetadata(own, folder)
    expect(await listEvents(own)).toEqual(await listEvents(db))
  })
})
