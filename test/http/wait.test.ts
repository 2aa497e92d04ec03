// One request instead of many: `Prefer: wait` is answered when nothing is under way any more, or when its time is over.
import { expect, test } from 'vitest'
import { newClient } from '#contract/client.ts'
import type { FaultBody } from '#contract/fault.ts'
import { caller_waits_max } from '#server/http/http.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { startWithDatabases } from './region.ts'

const howdah = shared(() => startWithDatabases({ effect: async () => await obstacle }))
/** Holds up whatever is being made. */
let obstacle: Promise<void> | undefined

const at = (service_id: string) => `${howdah.services}/${service_id}`
const see = (service_id: string, prefer: string) => howdah.call('GET', at(service_id), undefined, { prefer })

async function requestService(): Promise<string> {
  const { status, body } = await howdah.call('POST', howdah.services, { name: 'awaited', cpu_millis: 'shared' })
  expect(status).toBe(202)
  return body.service_id ?? ''
}

function holdUp(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  obstacle = promise
  return () => {
    obstacle = undefined
    resolve()
  }
}

test('each step of a life is awaited by one request', async () => {
  const service_id = await requestService()
  const made = await see(service_id, 'respond-async, wait=50')
  expect(made).toMatchObject({ status: 200, body: { service_id, status: 'READY' } })
  expect(made.headers.get('preference-applied')).toBe('wait=50')
  await howdah.call('POST', `${at(service_id)}/stop`)
  expect((await see(service_id, 'wait=50')).body.status).toBe('PAUSED')
  await howdah.call('POST', `${at(service_id)}/start`)
  const client = newClient({ base_url: howdah.server.api_url, token: howdah.token })
  const started = await client.getService({ project_id: howdah.project_id, service_id, wait_seconds: 50 })
  expect(started.status).toBe('READY')
  // Nothing is under way: it is answered at once.
  expect((await see(service_id, 'wait=50')).body.status).toBe('READY')
  await howdah.call('DELETE', at(service_id))
  expect((await see(service_id, 'wait=50')).status).toBe(404)
})

test('a replica set, which is read as a service, is awaited too, also its removal', async () => {
  const service_id = await requestService()
  await see(service_id, 'wait=50')
  const set = { name: 'readers', nodes: 1, cpu_millis: 500, memory_gbs: 2 }
  const { status, body } = await howdah.call<{ id: string }>('POST', `${at(service_id)}/replicaSets`, set)
  expect(status).toBe(202)
  expect(await see(body.id, 'wait=50')).toMatchObject({ status: 200, body: { service_id: body.id, status: 'READY' } })
  await howdah.call('DELETE', `${at(service_id)}/replicaSets/${body.id}`)
  expect((await see(body.id, 'wait=50')).status).toBe(404)
  await howdah.call('DELETE', at(service_id))
})

test('when its time is over the answer is what is seen then, and no time is longer than the longest', async () => {
  const goOn = holdUp()
  const service_id = await requestService()
  const early = await see(service_id, 'wait=1')
  expect(early).toMatchObject({ status: 200, body: { status: expect.stringMatching(/^(QUEUED|CONFIGURING)$/) } })
  expect(early.headers.get('preference-applied')).toBe('wait=1')
  const late = see(service_id, 'wait="100000"; foo')
  goOn()
  expect((await late).body.status).toBe('READY')
  expect((await late).headers.get('preference-applied')).toBe('wait=50')
})

test('a preference for nothing that is known changes nothing', async () => {
  const goOn = holdUp()
  const service_id = await requestService()
  for (const prefer of ['', 'respond-async', 'wait=', 'wait=soon', 'wait=-1', 'wait=0', 'await=9', 'wait=9s']) {
    const { body, headers } = await see(service_id, prefer)
    expect(body.status, prefer).toMatch(/^(QUEUED|CONFIGURING)$/)
    expect(headers.has('preference-applied'), prefer).toBe(false)
  }
  goOn()
  await howdah.call('DELETE', at(service_id))
  await howdah.untilStatus(service_id, 'removed')
})

test('what is not there, or not in this project, is not awaited', async () => {
  expect((await see('nothing000', 'wait=50')).status).toBe(404)
  const service_id = await requestService()
  const elsewhere = `/projects/0000000000/services/${service_id}`
  expect((await howdah.call('GET', elsewhere, undefined, { prefer: 'wait=50' })).status).toBe(404)
})

test('a server that is stopped keeps no caller waiting', async () => {
  const goOn = holdUp()
  const service_id = await requestService()
  const answer = see(service_id, 'wait=50')
  let answered = false
  void answer.then(() => (answered = true))
  // It waits: others are answered meanwhile.
  for (let others = 0; others < 3; others += 1) await howdah.call('GET', at(service_id))
  expect(answered).toBe(false)
  const restarted = howdah.restart()
  const { status, body } = await answer
  expect(status).toBe(200)
  expect(body.status).toMatch(/^(QUEUED|CONFIGURING)$/)
  goOn()
  await restarted
  await until(async () => (await see(service_id, 'wait=50')).body.status === 'READY')
})

test('a caller has so many requests that wait at a time, and others are answered', async () => {
  const service_id = await requestService()
  await see(service_id, 'wait=50')
  const events = `/projects/${howdah.project_id}/events`
  type Events = { last_cursor: string } & FaultBody
  const { last_cursor } = (await howdah.call<Events>('GET', events)).body
  const wait = (prefer: string) =>
    howdah.call<Events>('GET', `${events}?kinds=requested&after=${last_cursor}`, undefined, { prefer })
  const leaving = Array.from({ length: caller_waits_max }, () => wait('wait=50'))
  const refused = await until(async () => {
    const answer = await wait('wait=1')
    return answer.status === 429 && answer
  })
  expect(refused.body.code).toBe('RATE_LIMITED')
  expect(refused.body.message).toContain(`a caller has at most ${caller_waits_max} requests that wait`)
  expect(refused.headers.has('preference-applied')).toBe(false)
  expect((await howdah.call('GET', events)).status).toBe(200)
  expect((await howdah.call('GET', at(service_id))).status).toBe(200)
  await howdah.call('POST', `${at(service_id)}/rename`, { name: 'renamed' })
  const answered = await Promise.all(leaving)
  expect(answered.map(({ status }) => status)).toEqual(answered.map(() => 200))
  expect((await see(service_id, 'wait=50')).body.status).toBe('READY')
})
