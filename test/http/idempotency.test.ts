// Creating the same service again: what an Idempotency-Key promises, and what happens without one.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Service } from '#contract/service.ts'
import type { TestInstallation } from '#test/installation.ts'
import { startInRegion } from './region.ts'

let howdah: TestInstallation

beforeAll(async () => {
  howdah = await startInRegion()
})

afterAll(async () => {
  await howdah?.stop()
})

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
