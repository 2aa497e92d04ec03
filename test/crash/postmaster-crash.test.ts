// A database that dies by itself is noticed and started again, with everything that was committed.
import { beforeAll, expect, test } from 'vitest'
import { ask, loginTo } from '#test/database.ts'
import { type ReadyService, startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { listPostmasters, orphansOf, postmasterPid } from '#test/traces.ts'
import { until } from '#test/until.ts'

const howdah = shared(() => startInstallation({ effect: (name) => atEffect?.(name) }))
let service: ReadyService
let atEffect: ((name: string) => Promise<void>) | undefined

beforeAll(async () => {
  service = await howdah.createService({ cpu_millis: 'shared' })
  await query('create table kept (word text)')
})

const query = (sql: string) => ask(howdah.server.api_url, service, service.initial_password, sql)

const countEvents = async (kind: string) =>
  (await howdah.eventsOf(service.service_id)).filter((event) => event.kind === kind).length

test('a postmaster that is killed is started again by itself, with every commit, and the events say so', async () => {
  const before = await countEvents('restarted')
  const session = await loginTo(howdah.server.api_url, service, service.initial_password)
  await session.query(`insert into kept values ('committed')`)
  await session.query('begin')
  await session.query(`insert into kept values ('not committed')`)
  const killed = postmasterPid(howdah.config.data_dir, service.service_id)
  process.kill(killed, 'SIGKILL')

  await until(async () => (await countEvents('restarted')) === before + 1, { what: 'the events tell of the restart' })
  await howdah.untilStatus(service.service_id, 'READY')
  await session.end().catch(() => undefined)
  expect(await query('select word from kept')).toEqual(['committed'])
  expect(postmasterPid(howdah.config.data_dir, service.service_id)).not.toBe(killed)
  expect(orphansOf(howdah.config.data_dir, [service.service_id])).toEqual([])
})

test('while a killed postmaster is being started again the service is UNSTABLE', async () => {
  const held = Promise.withResolvers<void>()
  atEffect = async (name) => {
    if (name === 'postmaster: spawn') await held.promise
  }
  process.kill(postmasterPid(howdah.config.data_dir, service.service_id), 'SIGKILL')
  await howdah.untilStatus(service.service_id, 'UNSTABLE').finally(() => held.resolve())
  atEffect = undefined
  await howdah.untilStatus(service.service_id, 'READY')
  expect(await countEvents('unstable')).toBeGreaterThan(0)
  expect(await countEvents('recovered')).toBe(await countEvents('unstable'))
})

test('a server that comes up calls no database READY that died while there was none', async () => {
  const held = Promise.withResolvers<void>()
  const before = await countEvents('unstable')
  await howdah.server.close()
  process.kill(postmasterPid(howdah.config.data_dir, service.service_id), 'SIGKILL')
  atEffect = async (name) => {
    if (name === 'postmaster: spawn') await held.promise
  }
  await howdah.restart()
  const { body } = await howdah.call('GET', `${howdah.services}/${service.service_id}`)
  atEffect = undefined
  held.resolve()
  expect(body.status).toBe('UNSTABLE')
  await howdah.untilStatus(service.service_id, 'READY')
  expect(await countEvents('unstable')).toBeGreaterThan(before)
  expect(await countEvents('recovered')).toBe(await countEvents('unstable'))
})

test('a busy backend does not keep the dead postmaster’s place: it is ended before the new one starts', async () => {
  const before = await countEvents('restarted')
  const session = await loginTo(howdah.server.api_url, service, service.initial_password)
  // Bound to the processor, it does not notice by itself that its postmaster is dead.
  const endless = session
    .query('select count(*) from generate_series(1, 1000000000000)')
    .catch((error: unknown) => error)
  await until(async () => (await query(`select from pg_stat_activity where query like '%10000000%'`)).length > 1)
  process.kill(postmasterPid(howdah.config.data_dir, service.service_id), 'SIGKILL')

  await until(async () => (await countEvents('restarted')) === before + 1, { what: 'the events tell of the restart' })
  await howdah.untilStatus(service.service_id, 'READY')
  expect(await endless).toBeInstanceOf(Error)
  await session.end().catch(() => undefined)
  expect(listPostmasters(howdah.config.data_dir, service.service_id)).toHaveLength(1)
})

test('a killed backend makes PostgreSQL recover by itself; the service is READY after it and no pass restarted it', async () => {
  const before = await countEvents('restarted')
  const postmaster = postmasterPid(howdah.config.data_dir, service.service_id)
  const session = await loginTo(howdah.server.api_url, service, service.initial_password)
  await session.query(`insert into kept values ('before the recovery')`)
  const { rows } = await session.query<{ pid: number }>('select pg_backend_pid() as pid')
  process.kill(rows[0]?.pid ?? expect.fail('it has a backend'), 'SIGKILL')

  await until(async () => (await query('select word from kept')).includes('before the recovery'))
  await session.end().catch(() => undefined)
  await howdah.untilStatus(service.service_id, 'READY')
  expect(postmasterPid(howdah.config.data_dir, service.service_id)).toBe(postmaster)
  expect(await countEvents('restarted')).toBe(before)
})

test('a database that died while no server ran is started by the next server', async () => {
  const before = await countEvents('restarted')
  await query(`insert into kept values ('before the night')`)
  await howdah.server.close()
  process.kill(postmasterPid(howdah.config.data_dir, service.service_id), 'SIGKILL')
  await howdah.restart()
  await until(async () => (await countEvents('restarted')) === before + 1, { what: 'the events tell of the restart' })
  await howdah.untilStatus(service.service_id, 'READY')
  expect(await query('select word from kept')).toContain('before the night')
})
