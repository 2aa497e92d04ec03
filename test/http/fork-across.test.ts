// A fork into another region: what it needs, and how both services look meanwhile.
import { expect, test } from 'vitest'
import { shared } from '#test/shared.ts'
import { startInRegion } from './region.ts'

const regions = [
  { region_code: 'here', provider: 'memory' },
  { region_code: 'there', provider: 'memory' },
] as const
const howdah = shared(() => startInRegion({ config: { regions } }))

const now = { fork_strategy: 'NOW', region_code: 'there' }
const fork = (service_id: string, input: object, headers = {}) =>
  howdah.call('POST', `${howdah.services}/${service_id}/forkService`, input, headers)

test('a fork NOW is made in the region that it names, once', async () => {
  const parent = await howdah.createService({ name: 'shop' })
  const key = { 'idempotency-key': 'move' }
  const made = await fork(parent.service_id, now, key)
  expect([made.status, made.body.region_code, made.body.name]).toEqual([202, 'there', 'shop-fork'])
  expect(made.body.forked_from).toMatchObject({ service_id: parent.service_id })
  expect((await fork(parent.service_id, now, key)).body.service_id).toBe(made.body.service_id)
  expect((await fork(parent.service_id, { fork_strategy: 'NOW' }, key)).status).toBe(409)
  const ready = await howdah.untilStatus(made.body.service_id, 'READY')
  expect(ready.body).toMatchObject({ region_code: 'there' })
  expect((await howdah.untilStatus(parent.service_id, 'READY')).body).toMatchObject({ region_code: 'here' })
  expect(JSON.stringify(await howdah.eventsOf(parent.service_id))).toContain(
    'a fork was asked for: as the service is now',
  )
})

test('what does not go with another region is refused, each with its reason', async () => {
  const { service_id } = await howdah.createService()
  const refused = async (input: object) => {
    const { status, body } = await fork(service_id, input)
    return { status, text: JSON.stringify(body) }
  }
  const past = await refused({ ...now, fork_strategy: 'LAST_SNAPSHOT', mask: 'select 1' })
  expect(past.status).toBe(400)
  expect(past.text).toContain('must be NOW with the region_code of another region')
  expect(past.text).toContain('/mask')
  await howdah.call('POST', `${howdah.services}/${service_id}/stop`)
  await howdah.untilStatus(service_id, 'PAUSED')
  expect(await refused(now)).toMatchObject({ status: 400, text: expect.stringContaining('start it first') })
})

test('a fork of another region is not reset: its parent cannot be copied there again', async () => {
  const parent = await howdah.createService()
  const { service_id } = (await fork(parent.service_id, now)).body
  await howdah.untilStatus(service_id, 'READY')
  const reset = await howdah.call('POST', `${howdah.services}/${service_id}/reset`)
  const message = `its parent ${parent.service_id} is in region here, and a reset copies within one region; fork it again`
  expect(reset).toMatchObject({ status: 409, body: { message } })
})
