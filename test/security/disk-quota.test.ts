// Attack: one tenant takes as much of the disk as there is. A service has a quota: it is told at 90 %, refuses writes at 100 %,
// alone among all, and cannot be made to pass it by `begin read write`. Measured, so as any user on any file system.
import { beforeAll, describe, expect, test } from 'vitest'
import { ask, loginTo } from '#test/database.ts'
import { familyOf } from '#test/fork/family.ts'
import { type ReadyService, startInstallation } from '#test/installation.ts'
import { scrape } from '#test/metrics-scrape.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { startGreed, usedMb } from './greed.ts'

/** For a shared service, in MB: some sixty are taken from the beginning. */
const quota_mb = 0.3 * 1024

/** So that one is due soon when the archive has to give way; each is a copy of all that there is. */
const snapshots = { interval_seconds: 10, kept: 7 }

const howdah = shared(() =>
  startInstallation({ config: { disk_quota: quota_mb / 1024, snapshots }, sample_interval_ms: 200 }),
)
let other: ReadyService

beforeAll(async () => {
  other = await howdah.createService({ name: 'other', cpu_millis: 'shared' })
})

const query = (service: ReadyService, sql: string) => ask(howdah.server.api_url, service, service.initial_password, sql)
const livesSince = (service: ReadyService) => query(service, 'select pg_postmaster_start_time()')
const events = async (service: ReadyService) => (await familyOf(howdah).events(service)).join('\n')
const at = ({ service_id }: ReadyService, verb = '') => `${howdah.services}/${service_id}${verb}`
const dataOf = (service: ReadyService) => usedMb(familyOf(howdah).home(service))
const isReadOnly = async (service: ReadyService) =>
  (await query(service, 'show default_transaction_read_only'))[0] === 'on'

async function newGreedy(name: string): Promise<ReadyService> {
  const service = await howdah.createService({ name, cpu_millis: 'shared' })
  await familyOf(howdah).untilSnapshot(service)
  await query(service, 'create table hoard (line text)')
  return service
}

/** Ordinary writes, until they are refused; slow ones at the end, or it would be over its quota by so much that it is shut. */
async function fill(service: ReadyService): Promise<void> {
  const rows = () => (dataOf(service) < quota_mb * 0.9 ? 4_000 : 1_500)
  const insert = () => `insert into hoard select repeat(md5(n::text), 32) from generate_series(1, ${rows()}) n`
  await until(async () => {
    const session = await loginTo(howdah.server.api_url, service, service.initial_password)
    try {
      for (;;) await session.query(`${insert()}; select pg_sleep(0.1)`)
    } catch (error) {
      return error instanceof Error && error.message.includes('read-only transaction')
    } finally {
      await session.end().catch(() => undefined)
    }
  })
}

describe('a service that fills its disk quota', () => {
  test('is told, refuses writes, and takes them again when space was freed; all others go on', async () => {
    const service = await newGreedy('full')
    const before = await livesSince(service)
    await fill(service)
    const told = await until(async () => {
      const all = await events(service)
      return all.includes('serves reads only') && all
    })
    expect(told).toContain('90 % of its disk quota of 0.3 GB are taken')
    expect(told).toContain('setback: its disk quota of 0.3 GB is used up: it serves reads only')
    // It can be logged into and read, and it can be given another size, so it is READY.
    await howdah.untilStatus(service.service_id, 'READY')
    // Where it is measured late it has grown so far that it is shut for a while first.
    const counted = await until(() => query(service, 'select count(*) from hoard'), { what: 'it is read' })
    expect(Number(counted[0])).toBeGreaterThan(0)
    expect(await isReadOnly(other)).toBe(false)
    await query(other, 'create table fine ()')
    const login = () => loginTo(howdah.server.api_url, service, service.initial_password)
    const session = await until(login, { what: 'it is logged into' })
    await session.query('begin read write; truncate hoard; commit')
    await session.end()
    await until(async () => !(await isReadOnly(service)), { what: 'writes are taken' })
    await query(service, 'insert into hoard values (1)')
    expect(await livesSince(service)).toEqual(before)
    await howdah.call('DELETE', at(service))
  })

  test('cannot be made to grow much beyond it by a loop of `begin read write`, and lives on', async () => {
    const service = await newGreedy('greedy')
    const before = await livesSince(service)
    // The quota is measured every few seconds: how far it grows until then is as much as the machine can write, if it is not slowed down.
    const insert =
      'insert into hoard select repeat(md5(n::text), 32) from generate_series(1, 4000) n; select pg_sleep(0.1)'
    const greed = startGreed(howdah, service, { statement: insert })
    try {
      await until(async () => (await events(service)).includes('logins are refused'), { what: 'it is shut' })
      await howdah.untilStatus(service.service_id, 'UNSTABLE')
      const shut_at_mb = dataOf(service)
      await query(other, 'create table also_fine ()')
      // It is opened after a while, and shut again before it has taken much.
      await until(() => greed.refusals().some((said) => said.includes('rejects connection')))
      const committed = greed.committed()
      await until(() => greed.committed() > committed, { what: 'it was opened again' })
      await howdah.untilStatus(service.service_id, 'UNSTABLE')
      expect(dataOf(service) - shut_at_mb).toBeLessThan(quota_mb)
    } finally {
      await greed.stop()
    }
    // Once it stands still it can be read, and made room in.
    await until(() => query(service, 'select 1'), { what: 'it is opened' })
    expect(await livesSince(service)).toEqual(before)
    const session = await loginTo(howdah.server.api_url, service, service.initial_password)
    await session.query('begin read write; drop table hoard; commit')
    await session.end()
    await until(async () => !(await isReadOnly(service)), { what: 'writes are taken' })
    await howdah.call('DELETE', at(service))
  })

  test('gives up old WAL of its archive first, and goes on to take writes', async () => {
    const service = await newGreedy('archiver')
    const { body: first } = await howdah.call<{ restorable_from: string }>('GET', at(service, '/restorable'))
    // Nothing stays but WAL.
    const churn =
      'insert into hoard select repeat(md5(n::text), 32) from generate_series(1, 4000) n; truncate hoard; select pg_sleep(0.05)'
    const greed = startGreed(howdah, service, { transaction: 'begin', statement: churn })
    try {
      await until(async () => (await events(service)).includes('its archive gives way'), {
        what: 'the archive is full',
      })
      await until(
        async () => {
          const { body } = await howdah.call<{ restorable_from: string }>('GET', at(service, '/restorable'))
          return body.restorable_from > first.restorable_from
        },
        { what: 'recovery begins later' },
      )
    } finally {
      await greed.stop()
    }
    await until(async () => !(await isReadOnly(service)), { what: 'writes are taken' })
    await query(service, 'insert into hoard values (1)')
    await howdah.call('DELETE', at(service))
  })
})

test('a service cannot be made to fill the disk with snapshots either', async () => {
  const service = await howdah.createService({ name: 'collector', cpu_millis: 'shared' })
  const take = () => howdah.call('POST', at(service, '/snapshots'))
  const answers: number[] = []
  for (let n = 0; n < 21; n++) answers.push((await take()).status)
  expect(answers).toEqual([...Array.from({ length: 20 }, () => 202), 403])
  expect((await take()).body).toMatchObject({ code: 'QUOTA_EXCEEDED' })
  await howdah.call('DELETE', at(service))
})

test('the quota is shown with the size, and its parts are measured', async () => {
  const big = await startInstallation({ config: { disk_quota: 3 }, sample_interval_ms: 200 })
  try {
    const shared = await big.createService({ name: 'shared', cpu_millis: 'shared' })
    const sized = await big.createService({ name: 'sized' })
    const specOf = async ({ service_id }: ReadyService) =>
      (await big.call<{ resources: { spec: object }[] }>('GET', `${big.services}/${service_id}`)).body.resources[0]
        ?.spec
    expect(await specOf(shared)).toEqual({ max_connections: 50, disk_gbs: 3, volume_type: 'local' })
    expect(await specOf(sized)).toEqual({
      cpu_millis: 500,
      memory_gbs: 2,
      max_connections: 100,
      disk_gbs: 6,
      volume_type: 'local',
    })
    const exposed = await until(async () => {
      const { text } = await scrape(big)
      const measured = text.split('\n').filter((line) => line.includes(sized.service_id))
      return measured.some((line) => line.startsWith('howdah_service_disk_archive_bytes')) && measured
    })
    const quota = exposed.find((line) => line.startsWith('howdah_service_disk_quota_bytes'))
    expect(quota?.split(' ').at(-1)).toBe(String(6 * 1024 ** 3))
    await big.call('POST', `${big.services}/${sized.service_id}/resize`, { cpu_millis: '1000', memory_gbs: '4' })
    expect(await specOf(sized)).toMatchObject({ memory_gbs: 4, disk_gbs: 12 })
  } finally {
    await big.stop()
  }
})

test('without quotas none is shown, and none is in force', async () => {
  const free = await startInstallation({ config: { disk_quota: 0 } })
  try {
    const { service_id, ...service } = await free.createService({ name: 'free', cpu_millis: 'shared' })
    const { body } = await free.call<{ resources: { spec: object }[] }>('GET', `${free.services}/${service_id}`)
    expect(body.resources[0]?.spec).toEqual({ max_connections: 50, volume_type: 'local' })
    expect(await ask(free.server.api_url, service, service.initial_password, 'show temp_file_limit')).toEqual(['-1'])
  } finally {
    await free.stop()
  }
})
