// Creating the same service again: what an Idempotency-Key promises, and what happens without one.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Service } from '#contract/service.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { openReadyRows } from './ready-services.ts'
import { startInRegion } from './region.ts'

const howdah = shared(startInRegion)
const rows = shared(() => openReadyRows(howdah))

const create = (body: Record<string, unknown>, key?: string) =>
  howdah.call(
    'POST',
    howdah.services,
    { cpu_millis: 'shared', ...body },
    key === undefined ? {} : { 'idempotency-key': key },
  )

const namesakes = async (name: string) =>
  (await howdah.call<Service[]>('GET', howdah.services)).body.filter((service) => service.name === name)

test('the same create sent fifty times at once makes one service, and every answer has its password', async () => {
  const key = randomUUID()
  const answers = await Promise.all(Array.from({ length: 50 }, () => create({ name: 'once' }, key)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
  const told = answers.map(({ body: { service_id, initial_password, endpoint } }) =>
    JSON.stringify({ service_id, initial_password, endpoint }),
  )
  expect(new Set(told).size).toBe(1)
  expect(await namesakes('once')).toHaveLength(1)
})

test('the members of the body may come in another order', async () => {
  const key = randomUUID()
  const first = await create({ name: 'ordered', environment_tag: 'PROD' }, key)
  const second = await create({ environment_tag: 'PROD', name: 'ordered' }, key)
  expect(second).toMatchObject({ status: 202, body: { service_id: first.body.service_id } })
})

test('a key that was used with another body is refused, and nothing is made', async () => {
  const key = randomUUID()
  await create({ name: 'first use' }, key)
  const second = await create({ name: 'second use' }, key)
  expect(second).toMatchObject({
    status: 409,
    body: { code: 'CONFLICT', message: 'this Idempotency-Key was used with another request; choose a new key' },
  })
  expect(await namesakes('second use')).toEqual([])
})

test('a repeated fork is answered whatever has become of its parent', async () => {
  const parent = await rows.newService()
  const at = `${howdah.services}/${parent}`
  const headers = { 'idempotency-key': randomUUID() }
  const fork = (region: object = { region_code: 'elsewhere' }) =>
    howdah.call('POST', `${at}/forkService`, { fork_strategy: 'NOW', ...region }, headers)
  const { status, body: made } = await fork()
  expect(status).toBe(202)
  const same = { service_id: made.service_id, initial_password: made.initial_password }
  const repeatWhile = async (condition: string) => {
    expect((await howdah.call('GET', at)).body.status).toBe(condition)
    expect(await fork(), condition).toMatchObject({ status: 202, body: same })
  }
  expect((await howdah.call('POST', `${at}/resize`, { cpu_millis: '1000', memory_gbs: '4' })).status).toBe(202)
  await repeatWhile('CONFIGURING')
  expect((await howdah.call('DELETE', at)).status).toBe(202)
  await repeatWhile('DELETING')
  await rows.db.query('update services set ended_at = now() where service_id = $1', [parent])
  expect(await fork()).toMatchObject({ status: 202, body: same })
  await rows.db.query('delete from services where service_id = $1', [parent])
  // The region of its parent is known to no row any more.
  expect(await fork({})).toMatchObject({ status: 202, body: same })
})

test('a repeated create is answered also when its expires_at has passed', async () => {
  const key = randomUUID()
  const expires = Date.now() + 1_000
  // Where its removal takes longer than the test.
  const body = { name: 'ends', region_code: 'elsewhere', expires_at: new Date(expires).toISOString() }
  const first = await create(body, key)
  expect(first.status).toBe(202)
  await until(() => Date.now() > expires)
  const { service_id, initial_password } = first.body
  expect(await create(body, key)).toMatchObject({ status: 202, body: { service_id, initial_password } })
})

test('a refused create does not use up its key', async () => {
  const key = randomUUID()
  expect((await create({ name: 'try', region_code: 'nowhere' }, key)).status).toBe(400)
  expect((await create({ name: 'try' }, key)).status).toBe(202)
})

test('without a key every request makes a service with a password of its own', async () => {
  const answers = await Promise.all(Array.from({ length: 3 }, () => create({ name: 'thrice' })))
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 202])
  expect(new Set(answers.map(({ body }) => body.service_id)).size).toBe(3)
  expect(new Set(answers.map(({ body }) => body.initial_password)).size).toBe(3)
  expect(await namesakes('thrice')).toHaveLength(3)
})

test('the key of a deleted service makes no second one', async () => {
  const key = randomUUID()
  const { body } = await create({ name: 'short-lived' }, key)
  await howdah.call('DELETE', `${howdah.services}/${body.service_id}`)
  await howdah.untilStatus(body.service_id, 'removed')
  expect(await create({ name: 'short-lived' }, key)).toMatchObject({
    status: 409,
    body: {
      code: 'CONFLICT',
      message: 'the service made with this Idempotency-Key has been deleted since; choose a new key',
    },
  })
})
