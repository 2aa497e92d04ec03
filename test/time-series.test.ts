// The addon `time-series` with a real TimescaleDB: everything that a service can do, with a hypertable that has rows. Needs a host
// with the extension, such as Debian 13 with postgresql-17-timescaledb; elsewhere these tests are skipped.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Static } from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ReadReplicaSet } from '#contract/replica-set.ts'
import { findInstallations, installationFor } from '#providers/local/postgres/installation.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { type Family, familyOf } from '#test/fork/family.ts'
import { type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { momentNow, until } from '#test/until.ts'

const looked_in = newDataDir()
const named = process.env['HOWDAH_POSTGRES_DIRECTORIES']?.split(':') ?? []
const found = await findInstallations(named, { copies_directory: join(looked_in, 'postgres'), uid: undefined })
await removeDataDir(looked_in)
const time_series = installationFor(found, ['timescaledb'])
const with_ai = installationFor(found, ['timescaledb', 'vector'])

const why = time_series ? '' : ' (skipped: no PostgreSQL here has timescaledb; on Debian 13: postgresql-17-timescaledb)'
const why_not_both = with_ai ? '' : ' (skipped: it takes postgresql-17-pgvector as well)'

let howdah: TestInstallation
let family: Family
let service: ReadyService

/** Twelve days in twelve chunks. */
const first_rows = 1_200

beforeAll(async () => {
  if (!time_series) return
  howdah = await startInstallation({ config: { postgres_directories: named } })
  family = familyOf(howdah)
  service = await howdah.createService({ name: 'series', addons: ['time-series'], cpu_millis: '500', memory_gbs: '2' })
  await family.rows(service, 'create table readings (at timestamptz not null, value int)')
  await family.rows(service, `select create_hypertable('readings', 'at', chunk_time_interval => interval '1 day')`)
  await insert(service, first_rows)
})
afterAll(() => howdah?.stop())

const insert = (into: ReadyService, count: number) =>
  family.rows(
    into,
    `insert into readings select '2026-01-01Z'::timestamptz + n % 288 * interval '1 hour', n from generate_series(1, ${count}) n`,
  )

/** How many rows a hypertable has, by way of its chunks. */
const countOf = async (of: ReadyService) => Number((await family.rows(of, 'select count(*) from readings'))[0])
const chunksOf = async (of: ReadyService) =>
  Number((await family.rows(of, `select count(*) from show_chunks('readings')`))[0])

/** The hypertable has these rows, and takes more in a chunk that was not there. */
async function expectWhole(of: ReadyService, rows: number): Promise<void> {
  expect(await countOf(of)).toBe(rows)
  const chunks = await chunksOf(of)
  expect(chunks).toBeGreaterThanOrEqual(12)
  await family.rows(of, `insert into readings values (now() + interval '1 year', 1)`)
  expect(await chunksOf(of)).toBe(chunks + 1)
  await family.rows(of, `select drop_chunks('readings', newer_than => now())`)
  expect(await countOf(of)).toBe(rows)
}

const post = (of: ReadyService, verb: string, body?: object) =>
  howdah.call('POST', `${howdah.services}/${of.service_id}/${verb}`, body)

async function change(of: ReadyService, verb: string, body: object | undefined, status: string): Promise<void> {
  expect((await post(of, verb, body)).status).toBe(202)
  await howdah.untilStatus(of.service_id, status)
}

async function remove(gone: ReadyService): Promise<void> {
  await howdah.call('DELETE', `${howdah.services}/${gone.service_id}`)
  await howdah.untilStatus(gone.service_id, 'removed')
}

describe.skipIf(why)(`time-series${why}`, () => {
  test('a service is READY with the extension, its workers, and the version that has it', async () => {
    const { body } = await howdah.call('GET', `${howdah.services}/${service.service_id}`)
    expect(body).toMatchObject({ service_type: 'TIMESERIESDB', postgres_version: time_series?.version })
    expect(await family.rows(service, `select extname from pg_extension where extname = 'timescaledb'`)).toHaveLength(1)
    const workers = `select backend_type from pg_stat_activity where backend_type like 'TimescaleDB%Launcher'`
    await until(async () => (await family.rows(service, workers)).length === 1, { what: 'the launcher runs' })
    expect(await family.rows(service, 'show shared_preload_libraries')).toEqual(['timescaledb, pg_stat_statements'])
    await family.rows(service, 'create extension pg_stat_statements')
    expect(await family.rows(service, 'select count(*) > 0 from pg_stat_statements')).toEqual(['true'])
    await expectWhole(service, first_rows)
  })

  test('a service without the addon runs the newest PostgreSQL and loads nothing of it', async () => {
    const plain = await howdah.createService({ name: 'plain', cpu_millis: 'shared' })
    const { body } = await howdah.call('GET', `${howdah.services}/${plain.service_id}`)
    expect(body.postgres_version).toBe(found[0]?.version)
    expect(await family.rows(plain, 'show shared_preload_libraries')).toEqual(['pg_stat_statements'])
    await remove(plain)
  })

  test.skipIf(why_not_both)(`both addons together are READY${why_not_both}`, async () => {
    const both = await howdah.createService({ name: 'both', addons: ['time-series', 'ai'], cpu_millis: 'shared' })
    const names = `select extname from pg_extension where extname in ('timescaledb', 'vector') order by 1`
    expect(await family.rows(both, names)).toEqual(['timescaledb', 'vector'])
    await remove(both)
  })

  test('a fork of now and a fork to a moment have the rows of their moment, and go on', async () => {
    await family.untilSnapshot(service)
    const known = (await family.snapshots(service)).map(({ id }) => id)
    await post(service, 'snapshots')
    await family.untilSnapshot(service, known)
    const moment = await momentNow()
    await insert(service, 100)
    const now = await family.fork(service, { fork_strategy: 'NOW' })
    await expectWhole(now, first_rows + 100)
    const then = await family.fork(service, { fork_strategy: 'PITR', target_time: moment.toISOString() })
    await expectWhole(then, first_rows)
    for (const fork of [now, then]) await remove(fork)
  })

  test('a hypertable is whole after another size, and after a stop and a start', async () => {
    const rows = await countOf(service)
    await change(service, 'resize', { cpu_millis: '1000', memory_gbs: '4' }, 'READY')
    await expectWhole(service, rows)
    await change(service, 'stop', undefined, 'PAUSED')
    await change(service, 'start', undefined, 'READY')
    await expectWhole(service, rows)
  })

  test('a replica takes over with every row when the primary is killed, and by a switchover, and gets another size', async () => {
    const rows = await countOf(service)
    await change(service, 'setHA', { replica_count: 1, sync_replica_count: 1 }, 'READY')
    await insert(service, 50)
    process.kill(postmasterOf(service), 'SIGKILL')
    await until(async () => (await countOf(service)) === rows + 50, { what: 'the replica has taken over' })
    await until(async () => (await family.events(service)).some((event) => event.startsWith('promoted')))
    await until(async () => (await insert(service, 25)).length === 0, { what: 'it takes writes' })
    await howdah.untilStatus(service.service_id, 'READY')
    await expectWhole(service, rows + 75)
    await change(service, 'switchover', undefined, 'READY')
    await expectWhole(service, rows + 75)
    await change(service, 'resize', { cpu_millis: '500', memory_gbs: '2' }, 'READY')
    await expectWhole(service, rows + 75)
    await change(service, 'setHA', { replica_count: 0, sync_replica_count: 0 }, 'READY')
  })

  test('a node of a replica set reads a hypertable', async () => {
    const rows = await countOf(service)
    const sets = `${howdah.services}/${service.service_id}/replicaSets`
    const wanted = { name: 'readers', nodes: 1, cpu_millis: 500, memory_gbs: 2 }
    const { body } = await howdah.call<Static<typeof ReadReplicaSet>>('POST', sets, wanted)
    const set: ReadyService = { ...service, service_id: body.id, endpoint: body.endpoint }
    await until(async () => (await countOf(set)) === rows, { what: 'the node reads' })
    expect(await chunksOf(set)).toBe(await chunksOf(service))
  })
})

/** Of the node that the service was made with. */
function postmasterOf(of: ReadyService): number {
  return Number(readFileSync(join(family.home(of), 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
}
