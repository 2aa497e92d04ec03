// Services that end by themselves, and the filters and pages of the list, on one installation.
import { expect, test } from 'vitest'
import type { ProjectEvent } from '#contract/event.ts'
import type { Service } from '#contract/service.ts'
import type { Static } from 'typebox'
import type { Answer } from '#test/call.ts'
import { openStoreOf } from '#test/database.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { startInRegion } from './region.ts'

const howdah = shared(startInRegion)

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
const setExpiry = (service_id: string, expires_at: unknown) =>
  howdah.call('POST', `${howdah.services}/${service_id}/setExpiry`, { expires_at })
const kindsOf = async (service_id: string) => {
  type Events = { entries: Static<typeof ProjectEvent>[] }
  const { body } = await howdah.call<Events>('GET', `/projects/${howdah.project_id}/events?service_id=${service_id}`)
  return body.entries.map(({ kind }) => kind).toReversed()
}

test('create, fork and setExpiry take a moment, and null takes it back', async () => {
  const parent = await howdah.createService({ expires_at: '2030-01-31T13:00:00+01:00' })
  expect(parent).toMatchObject({ expires_at: '2030-01-31T12:00:00.000Z' })
  const fork = { fork_strategy: 'NOW', expires_at: '2031-01-31T12:00:00Z' }
  const { body: forked } = await howdah.call('POST', `${howdah.services}/${parent.service_id}/forkService`, fork)
  expect(forked.expires_at).toBe('2031-01-31T12:00:00.000Z')
  const plain = await howdah.call('POST', `${howdah.services}/${parent.service_id}/forkService`, {
    fork_strategy: 'NOW',
  })
  expect(plain.body).not.toHaveProperty('expires_at')
  const taken_back = await setExpiry(parent.service_id, null)
  expect(taken_back.status).toBe(200)
  expect(taken_back.body).not.toHaveProperty('expires_at')
  expect((await setExpiry(parent.service_id, '2032-01-31T12:00:00Z')).body.expires_at).toBe('2032-01-31T12:00:00.000Z')
})

test('a moment that is past or too far off is refused, wherever it is sent', async () => {
  const { service_id } = await howdah.createService()
  const problem = '/expires_at: must be a moment in the future, at most 3650 days from now'
  for (const expires_at of ['2020-01-31T12:00:00Z', '2300-01-31T12:00:00Z']) {
    const answers = [
      await setExpiry(service_id, expires_at),
      await howdah.call('POST', howdah.services, { name: 'late', expires_at }),
      await howdah.call('POST', `${howdah.services}/${service_id}/forkService`, { fork_strategy: 'NOW', expires_at }),
    ]
    expect(answers.map(({ status, body }) => [status, body.details])).toEqual(answers.map(() => [400, problem]))
  }
  const missing = await howdah.call('POST', `${howdah.services}/${service_id}/setExpiry`, {})
  expect(missing.body.details).toBe('/expires_at: is required')
})

test('at its moment a service is deleted, after a warning', async () => {
  const { service_id } = await howdah.createService({ expires_at: inSeconds(300) })
  await until(async () => (await kindsOf(service_id)).includes('expiring'), { what: 'it is warned of' })
  const db = openStoreOf(howdah)
  await db.query('update services set expires_at = now() where service_id = $1', [service_id])
  await db.close()
  await howdah.untilStatus(service_id, 'removed')
  const told = (await kindsOf(service_id)).filter((kind) => kind.startsWith('expir'))
  expect(told).toEqual(['expiring', 'expired'])
})

test('what came to its end while no server ran is deleted by the next one', async () => {
  const { service_id } = await howdah.createService({ expires_at: '2030-01-31T12:00:00Z' })
  const kept = await howdah.createService({ expires_at: '2030-01-31T12:00:00Z' })
  await howdah.server.close()
  const db = openStoreOf(howdah)
  await db.query(`update services set expires_at = now() - interval '1 day' where service_id = $1`, [service_id])
  await howdah.restart()
  await db.close()
  await howdah.untilStatus(service_id, 'removed')
  expect((await howdah.call('GET', `${howdah.services}/${kept.service_id}`)).status).toBe(200)
})

test('the list is filtered by name, environment and parent', async () => {
  const prod = await howdah.createService({ name: 'filtered', environment_tag: 'PROD' })
  const dev = await howdah.createService({ name: 'filtered' })
  const fork = { fork_strategy: 'NOW', name: 'filtered' }
  const { body: forked } = await howdah.call('POST', `${howdah.services}/${prod.service_id}/forkService`, fork)
  const ids = async (query: string) =>
    (await howdah.call<Service[]>('GET', `${howdah.services}?${query}`)).body.map(({ service_id }) => service_id)
  expect(await ids('name=filtered')).toEqual([prod.service_id, dev.service_id, forked.service_id])
  expect(await ids('name=filtered&environment=PROD')).toEqual([prod.service_id])
  expect(await ids(`forked_from=${prod.service_id}`)).toEqual([forked.service_id])
  expect(await ids(`forked_from=${dev.service_id}`)).toEqual([])
  expect(await ids('name=Filtered')).toEqual([])
})

test('pages have every service once, in the order of the whole list, also when the last one shown is removed', async () => {
  const whole = await howdah.call<Service[]>('GET', howdah.services)
  expect(whole.headers.get('x-next-cursor')).toBeNull()
  const made = await howdah.createService({ name: 'goes' })
  const expected = [...whole.body, made].map(({ service_id }) => service_id)
  const seen: string[] = []
  let query: string | undefined = '?limit=2'
  while (query !== undefined) {
    const page: Answer<Service[]> = await howdah.call<Service[]>('GET', howdah.services + query)
    expect(page.body.length).toBeLessThanOrEqual(2)
    seen.push(...page.body.map(({ service_id }) => service_id))
    const cursor: string | null = page.headers.get('x-next-cursor')
    query = cursor === null ? undefined : `?limit=2&cursor=${cursor}`
    const link = query === undefined ? null : `</public/api/v1${howdah.services}${query}>; rel="next"`
    expect(page.headers.get('link')).toBe(link)
  }
  expect(seen).toEqual(expected)
  const [first] = expected
  const page = await howdah.call<Service[]>('GET', `${howdah.services}?limit=1`)
  await howdah.call('DELETE', `${howdah.services}/${first}`)
  await howdah.untilStatus(first ?? '', 'removed')
  const after = await howdah.call<Service[]>('GET', `${howdah.services}?cursor=${page.headers.get('x-next-cursor')}`)
  expect(after.body.map(({ service_id }) => service_id)).toEqual(expected.slice(1))
  const wrong = await howdah.call('GET', `${howdah.services}?cursor=wrong&limit=0`)
  expect(wrong.body.details).toBe(
    'query/limit: must be at least 1\nquery/cursor: must be the X-Next-Cursor of an earlier answer',
  )
})
