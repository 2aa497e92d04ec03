// Members and query parameters that an endpoint does not know are refused, and the answer names the one probably meant: a
// misspelt count must not be answered as if it had been understood. What published clients send beside that is ignored.
import { beforeAll, describe, expect, test } from 'vitest'
import { shared } from '#test/shared.ts'
import { startInRegion } from './region.ts'
import { openReadyRows } from './ready-services.ts'

const howdah = shared(startInRegion)
const rows = shared(() => openReadyRows(howdah))
let ready: string

beforeAll(async () => {
  ready = `${howdah.services}/${await rows.newService()}`
})

async function expectRefusal(method: string, path: string, body: unknown, details: string): Promise<void> {
  const answer = await howdah.call(method, path, body)
  expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST', details } })
  expect(answer.body.message).not.toContain(details)
}

describe('a member of a body', () => {
  test('that is misspelt is refused, and the answer names the one probably meant', async () => {
    const details = '/sync_replicas: is not a known member; did you mean `sync_replica_count`?'
    await expectRefusal('POST', howdah.services, { name: 'x', replica_count: 1, sync_replicas: 1 }, details)
    const listed = await howdah.call<unknown[]>('GET', howdah.services)
    expect(listed.body).toHaveLength(1)
  })

  test('that is like none is refused with those that there are', async () => {
    const details = '/colour: is not a known member; those that exist are name'
    await expectRefusal('POST', `${ready}/rename`, { name: 'x', colour: 'red' }, details)
  })

  test('is found where it lies in another one', async () => {
    const body = {
      name: 'connections',
      from: '2026-11-15T10:00:00Z',
      to: '2026-11-15T11:00:00Z',
      filters: [{ key: 'role', value: 'primary', valu: 'x' }],
    }
    const details = '/filters/0/valu: is not a known member; did you mean `value`?'
    await expectRefusal('POST', `${ready}/metrics/series`, body, details)
  })

  test('is told together with everything else that is wrong', async () => {
    const answer = await howdah.call('POST', howdah.services, { nam: 'x', cpu_millis: '3' })
    expect(answer.body.details?.split('\n').map((line) => line.split(':')[0])).toEqual(['/name', '/nam', '/cpu_millis'])
  })

  test.each(['stop', 'switchover', 'enablePooler'])(
    'is refused where %s takes none, in whatever type',
    async (verb) => {
      for (const type of ['application/json', 'application/x-www-form-urlencoded']) {
        const answer = await howdah.call('POST', `${ready}/${verb}`, '{"force":true}', { 'content-type': type })
        expect([answer.status, answer.body.details]).toEqual([400, '/force: is not a known member; there is none here'])
      }
    },
  )
})

describe('a query parameter', () => {
  test('that is misspelt is refused, and the answer names the one probably meant', async () => {
    const details = 'query/severity: is not a known query parameter; did you mean `severities`?'
    await expectRefusal('GET', `${ready}/logs?severity=ERROR`, undefined, details)
    await expectRefusal(
      'GET',
      `/projects/${howdah.project_id}/audit?limits=5`,
      undefined,
      'query/limits: is not a known query parameter; did you mean `limit`?',
    )
  })

  test('is refused where there is none, also of a request that changes something', async () => {
    const details = 'query/limit: is not a known query parameter; there is none here'
    await expectRefusal('GET', `${ready}?limit=5`, undefined, details)
    await expectRefusal('DELETE', `${ready}?limit=5`, undefined, details)
    await expectRefusal('GET', '/ca.pem?limit=5', undefined, details)
    expect((await howdah.call('GET', ready)).status).toBe(200)
  })
})

describe('what published clients send', () => {
  test('the region of a fork is ignored where it is the parent’s, and refused where there is none', async () => {
    const { service_id } = await howdah.createService({ cpu_millis: 'shared' })
    const path = `${howdah.services}/${service_id}/forkService`
    const input = { fork_strategy: 'NOW', cpu_millis: 'shared' }
    const key = { 'idempotency-key': 'a-fork' }
    await expectRefusal(
      'POST',
      path,
      { ...input, region_code: 'mars' },
      '/region_code: there is no region "mars"; the regions are local, elsewhere',
    )
    const fork = await howdah.call('POST', path, { ...input, region_code: 'local' }, key)
    expect([fork.status, fork.body.region_code]).toEqual([202, 'local'])
    // The same request but for what says nothing.
    const again = await howdah.call('POST', path, input, key)
    expect([again.status, again.body.service_id]).toEqual([202, fork.body.service_id])
  })

  test.each([
    [{ cpu_millis: 500, memory_gbs: 2 }],
    [{ cpu_millis: '500', memory_gbs: 2 }],
    [{ cpu_millis: 500 }],
    [{ memory_gbs: '2' }],
  ])('the size %j is a number or its digits', async (size) => {
    const made = await howdah.call('POST', howdah.services, { name: 'sized', ...size })
    expect(made.status).toBe(202)
    expect(made.body.resources[0]?.spec).toMatchObject({ cpu_millis: 500, memory_gbs: 2 })
    await howdah.call('DELETE', `${howdah.services}/${made.body.service_id}`)
  })
})
