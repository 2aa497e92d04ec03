// The password that every answer to one Idempotency-Key has is the one that logs in.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { ask } from '#test/database.ts'
import type { ReadyService } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { startWithDatabases } from './region.ts'

const howdah = shared(startWithDatabases)

test('the password of the first and of every repeated answer logs in', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const create = () => howdah.call('POST', howdah.services, { name: 'once', cpu_millis: 'shared' }, headers)
  const answers = [...(await Promise.all(Array.from({ length: 50 }, create))), await create()]
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
  const told = answers.map(({ body: { service_id, initial_password } }) => `${service_id} ${initial_password}`)
  expect(new Set(told).size).toBe(1)
  const service = answers[0]?.body as ReadyService // the contract's own answer to a create
  await howdah.untilStatus(service.service_id, 'READY')
  const { api_url } = howdah.server
  expect(await ask(api_url, service, service.initial_password, 'select current_user')).toEqual(['tsdbadmin'])
})
