// The whole life of a service as a client sees it, from its creation to the 404, on one installation; the tests tell
// one sequence and run in their order.
import type pg from 'pg'
import { expect, test } from 'vitest'
import type { Service } from '#contract/service.ts'
import { ask, loginTo } from '#test/database.ts'
import type { ReadyService } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { withoutMeasures } from './measures.ts'
import { startWithDatabases } from './region.ts'

const howdah = shared(startWithDatabases)
let service: ReadyService
let password: string

const path = (verb = '') => `${howdah.services}/${service.service_id}${verb}`
const query = (sql: string) => ask(howdah.server.api_url, service, password, sql)
const setting = async (name: string) => (await query(`show ${name}`))[0]

test('a created service is answered at once with its endpoint and password, and becomes READY', async () => {
  const answer = await howdah.call('POST', howdah.services, { name: ' orders ', cpu_millis: 'shared' })
  expect(answer.status).toBe(202)
  expect(answer.body).toMatchObject({
    name: 'orders',
    status: 'QUEUED',
    project_id: howdah.project_id,
    region_code: 'local',
    service_type: 'POSTGRES',
    metadata: { environment: 'DEV' },
    ha_replicas: { replica_count: 0, sync_replica_count: 0 },
  })
  expect(answer.body.service_id).toMatch(/^[a-z0-9]{10}$/)
  expect(answer.body.initial_password).toMatch(/^[\w-]{32}$/)
  service = answer.body as ReadyService // has just been checked
  password = service.initial_password
  const seen = new Set<string>()
  const ready = await until(async () => {
    const { body } = await howdah.call('GET', path())
    seen.add(body.status)
    return body.status === 'READY' && body
  })
  expect([...seen].filter((status) => !['QUEUED', 'CONFIGURING', 'READY'].includes(status))).toEqual([])
  expect(ready.endpoint).toEqual(service.endpoint)
  expect(answer.body).not.toHaveProperty('postgres_version')
  expect(ready.postgres_version).toBe([...howdah.server.regions.values()][0]?.facts().postgres_versions[0])
  expect(ready).not.toHaveProperty('initial_password')
})

test('READY means that the master role logs in over TLS, owns its database and is no superuser', async () => {
  expect(await query('select current_user')).toEqual(['tsdbadmin'])
  expect(await query('create extension if not exists pg_stat_statements')).toEqual([])
  expect(await query('select version from pg_stat_ssl where pid = pg_backend_pid()')).toEqual([
    expect.stringMatching(/^TLSv1\.[23]$/),
  ])
  expect(
    await query(
      `select rolsuper::text || rolcreaterole::text || rolcreatedb::text from pg_roles where rolname = current_user`,
    ),
  ).toEqual(['falsetruetrue'])
  await query('create table kept (word text)')
  await query(`insert into kept values ('from the start')`)
})

test('the list and the single view agree, and neither shows a password', async () => {
  const { status, body } = await howdah.call<Service[]>('GET', howdah.services)
  expect(status).toBe(200)
  expect(body.map(withoutMeasures)).toEqual([withoutMeasures((await howdah.call<Service>('GET', path())).body)])
  expect(JSON.stringify(body)).not.toContain(password)
})

test('name and environment change at once and leave the status alone', async () => {
  const renamed = await howdah.call('POST', path('/rename'), { name: 'invoices' })
  expect(renamed).toMatchObject({ status: 200, body: { name: 'invoices', status: 'READY' } })
  const tagged = await howdah.call<{ message: string }>('POST', path('/setEnvironment'), { environment: 'PROD' })
  expect(tagged).toMatchObject({ status: 200, body: { message: 'the environment is PROD' } })
  expect((await howdah.call('GET', path())).body).toMatchObject({ name: 'invoices', metadata: { environment: 'PROD' } })
})

test('a resize is answered as CONFIGURING, changes the settings of PostgreSQL and keeps the data', async () => {
  expect(await setting('shared_buffers')).toBe('32MB')
  const answer = await howdah.call('POST', path('/resize'), { cpu_millis: '500', memory_gbs: '2' })
  expect(answer).toMatchObject({ status: 202, body: { status: 'CONFIGURING', endpoint: service.endpoint } })
  expect(answer.body).not.toHaveProperty('initial_password')
  const { body } = await howdah.untilStatus(service.service_id, 'READY')
  expect(body.resources[0]?.spec).toMatchObject({ cpu_millis: 500, memory_gbs: 2, max_connections: 100 })
  expect(await setting('shared_buffers')).toBe('512MB')
  expect(await setting('max_connections')).toBe('100')
  expect(await query('select word from kept')).toEqual(['from the start'])
})

test('a stop ends the service without losing a commit, and a start brings it back at its endpoint', async () => {
  const session = await loginTo(howdah.server.api_url, service, password)
  try {
    await session.query(`insert into kept values ('right before the stop')`)
    const stopped = await howdah.call('POST', path('/stop'))
    expect(stopped).toMatchObject({ status: 202, body: { status: 'PAUSING', endpoint: service.endpoint } })
    const paused = await howdah.untilStatus(service.service_id, 'PAUSED')
    expect(paused.body.endpoint).toEqual(service.endpoint)
    // A balancer in front of it takes the connection and gives it back.
    await expect(query('select 1')).rejects.toThrow(/ECONNREFUSED|ECONNRESET/)
  } finally {
    await session.end().catch(() => undefined)
  }
  const started = await howdah.call('POST', path('/start'))
  expect(started).toMatchObject({ status: 202, body: { status: 'RESUMING', endpoint: service.endpoint } })
  const ready = await howdah.untilStatus(service.service_id, 'READY')
  expect(ready.body.endpoint).toEqual(service.endpoint)
  expect(await query('select word from kept')).toEqual(['from the start', 'right before the stop'])
})

test('a new password holds when the answer comes, the old one no longer does, and open sessions live on', async () => {
  const session: pg.Client = await loginTo(howdah.server.api_url, service, password)
  try {
    const old = password
    password = 'correct horse Ünïcode'
    const answer = await howdah.call<undefined>('POST', path('/updatePassword'), { password })
    expect(answer).toMatchObject({ status: 204, body: undefined })
    expect(await query('select 1')).toEqual(['1'])
    await expect(ask(howdah.server.api_url, service, old, 'select 1')).rejects.toThrow('password authentication failed')
    expect((await session.query('select 1')).rowCount).toBe(1)
    expect((await howdah.call('GET', path())).body.status).toBe('READY')
  } finally {
    await session.end()
  }
})

test('the events tell each step, newest first', async () => {
  const events = await howdah.eventsOf(service.service_id)
  const times = events.map(({ time }) => Date.parse(time))
  expect(times).toEqual(times.toSorted((a, b) => b - a))
  expect(events.at(-1)).toMatchObject({ kind: 'created', message: 'created as orders' })
  const requests = events.filter(({ kind }) => kind === 'requested').map(({ message }) => message)
  expect(requests.toReversed()).toEqual([
    'a rename to invoices',
    'the environment PROD',
    'a resize to 500 milli-cores and 2 GB',
    'a stop',
    'a start',
    'another master password',
  ])
  expect(events.filter(({ kind }) => kind === 'settled')).toHaveLength(5)
})

test('a deleted service is DELETING and then unknown', async () => {
  expect((await howdah.call('POST', path('/setProtection'), { protected: false })).status).toBe(200)
  const answer = await howdah.call<undefined>('DELETE', path())
  expect(answer).toMatchObject({ status: 202, body: undefined })
  const seen = await howdah.call('GET', path())
  expect(seen.body.status ?? seen.status).toSatisfy((it: unknown) => it === 'DELETING' || it === 404)
  const gone = await howdah.untilStatus(service.service_id, 'removed')
  expect(gone.body).toEqual({ code: 'NOT_FOUND', message: 'no service with that id exists' })
  expect((await howdah.call('GET', howdah.services)).body).toEqual([])
})
