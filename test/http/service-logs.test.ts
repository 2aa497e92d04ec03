// The log of a service by the API, on real PostgreSQL: both modes, every filter, every refusal, and no password in it.
import type pg from 'pg'
import type { Static } from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FaultBody } from '#contract/fault.ts'
import type { LogHistogram, ServiceLogs } from '#contract/log.ts'
import { loginTo } from '#test/database.ts'
import type { ReadyService } from '#test/installation.ts'
import { isOffered } from '#test/offered.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { startWithDatabases } from './region.ts'

type Logs = Static<typeof ServiceLogs> & FaultBody

const howdah = shared(startWithDatabases)
let service: ReadyService
let client: pg.Client
let is_complete: boolean

const entries_written = 1_230

beforeAll(async () => {
  service = await howdah.createService({ cpu_millis: 'shared' })
  client = await loginTo(howdah.server.api_url, service, service.initial_password)
  is_complete = await isOffered(howdah, 'complete_logs')
  // Where a burst is not kept whole, there is none.
  const rest = is_complete ? '' : 'perform pg_sleep(0.015);'
  await client.query(`do $$ begin for n in 1..${entries_written} loop raise log 'entry %', n; ${rest} end loop; end $$`)
  await client.query(`do $$ begin raise warning 'Ärger mit "Anführung" und\nZeilen'; end $$`)
  await client.query('select * from nowhere').catch(() => undefined)
  await logged('nowhere')
})

afterAll(async () => {
  await client?.end()
})

const logs = (service_id = service.service_id) => `${howdah.services}/${service_id}/logs`
const read = async (query = '', service_id = service.service_id) =>
  await howdah.call<Logs>('GET', `${logs(service_id)}${query === '' ? '' : `?${query}`}`)

/** Entries are written by a process of their own, a moment later. */
const logged = (term: string) =>
  until(async () => {
    const { body } = await read(`search=${encodeURIComponent(term)}`)
    return body.entries?.length && body
  })

describe('by cursor', () => {
  test('the newest entries come first, at most 500, with all their fields', async () => {
    const { status, body } = await read()
    expect([status, body.entries?.length]).toEqual([200, 500])
    expect(body.logs).toEqual(body.entries?.map(({ message }) => message))
    expect(body.last_cursor).toBe(body.lastCursor)
    const times = body.entries?.map(({ timestamp }) => timestamp) ?? []
    expect(times).toEqual(times.toSorted().toReversed())
    // Not necessarily the very first: PostgreSQL has something to say at any time.
    expect(body.entries).toContainEqual({
      severity: 'ERROR',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      message: 'relation "nowhere" does not exist\nSTATEMENT:  select * from nowhere',
      id: expect.any(String),
      node: 0,
      process_id: expect.any(Number),
      user: 'tsdbadmin',
      database: 'tsdb',
      state_code: '42P01',
    })
  })

  test('followed to the end nothing is lost and nothing repeated, while new entries arrive', async () => {
    const found: string[] = []
    let query = 'search=ENTRY'
    for (let pages = 0; query !== ''; pages += 1) {
      const { body } = await read(query)
      found.push(...body.logs)
      if (pages === 0) await client.query(`do $$ begin raise log 'entry that came late'; end $$`)
      query = body.lastCursor === undefined ? '' : `search=ENTRY&cursor=${body.lastCursor}`
    }
    const numbered = found.filter((message) => /^entry \d+\n/.test(message))
    expect(numbered.map((message) => Number(/\d+/.exec(message)?.[0]))).toEqual(
      Array.from({ length: entries_written }, (_, at) => entries_written - at),
    )
  })

  test('every term must occur, in whatever case and script', async () => {
    const { body } = await read(
      `search=${encodeURIComponent('ärger')}&search=${encodeURIComponent('"ANFÜHRUNG" und\nz')}`,
    )
    expect(body.entries).toHaveLength(1)
    expect(body.entries?.[0]?.severity).toBe('WARNING')
    expect((await read(`search=${encodeURIComponent('ärger')}&search=nowhere`)).body.logs).toEqual([])
  })

  test('severities are kept in whatever case', async () => {
    const { body } = await read('severities=error&severities=Warning')
    expect(new Set(body.entries?.map(({ severity }) => severity))).toEqual(new Set(['ERROR', 'WARNING']))
  })

  test('since and until leave out their own moment, to the nanosecond and in any zone', async () => {
    const own = `severities=WARNING&search=${encodeURIComponent('ärger')}`
    const { body } = await read(own)
    const moment = body.entries?.[0]?.timestamp ?? ''
    const count = async (query: string) => (await read(`${own}&${query}`)).body.logs.length
    expect(await count(`since=${moment}`)).toBe(0)
    expect(await count(`until=${moment}`)).toBe(0)
    expect(await count(`until=${moment.replace('Z', '000001Z')}`)).toBe(1)
    expect(await count(`since=${new Date(Date.parse(moment) - 1).toISOString()}`)).toBe(1)
    const elsewhere = new Date(Date.parse(moment) + 2 * 3_600_000 + 1).toISOString().replace('Z', '%2B02:00')
    expect(await count(`until=${elsewhere}`)).toBe(1)
  })

  test('the cursor takes precedence over the page', async () => {
    const first = await read()
    const cursor = first.body.lastCursor
    expect((await read(`cursor=${cursor}&page=3000`)).body.entries).toHaveLength(500)
  })
})

test('forwards, a request that waits is answered with what comes, and the next one goes on after it', async () => {
  const say = (text: string) => client.query(`do $$ begin raise log '${text}'; end $$`)
  const readAfter = async (after: string, prefer = 'wait=40') =>
    await howdah.call<Logs>('GET', `${logs()}?after=${after}&search=forwards`, undefined, { prefer })
  await say('forwards, the first')
  const id = (await logged('forwards, the first')).entries?.[0]?.id ?? ''
  const waiting = readAfter(id)
  for (const which of ['second', 'third']) await say(`forwards, the ${which}`)
  const messages: string[] = []
  let { body } = await waiting
  while (messages.push(...(body.entries ?? []).map(({ message }) => message.split('\n')[0] ?? '')) < 2)
    body = (await readAfter(body.last_cursor ?? '')).body
  expect(messages).toEqual(['forwards, the second', 'forwards, the third'])
  expect((await readAfter(body.last_cursor ?? '', 'wait=0')).body.entries).toEqual([])
})

describe('by page', () => {
  test('the answer has messages only, and goes on where the first page ends', async () => {
    const until_now = `until=${new Date().toISOString()}`
    const first = (await read(until_now)).body
    const { body } = await read(`page=1&${until_now}&search=nothing-of-the-kind&severities=PANIC`)
    expect(Object.keys(body)).toEqual(['logs'])
    const second = (await read(`cursor=${first.lastCursor}&${until_now}`)).body
    expect(body.logs).toEqual(second.logs)
  })

  test('a page beyond the last entry is empty', async () => {
    expect((await read('page=19')).body).toEqual({ logs: [] })
  })

  test('a page beyond the window is refused with a pointer to cursors', async () => {
    const { status, body } = await read('page=20')
    expect([status, body.details]).toEqual([400, expect.stringContaining('lastCursor')])
  })
})

describe('as a histogram', () => {
  const count = async (query: string) =>
    await howdah.call<LogHistogram & FaultBody>('GET', `${logs()}/histogram?${query}`)

  test('its counts are those of the list', async () => {
    const until_now = new Date().toISOString()
    const { body: page } = await read(`search=entry&until=${until_now}&severities=LOG`)
    const since = new Date(Date.parse(page.entries?.at(-1)?.timestamp ?? '')).toISOString()
    const { status, body } = await count(`search=entry&since=${since}&until=${until_now}&buckets=7&severities=LOG`)
    expect(status).toBe(200)
    expect(body.partial).toBe(false)
    expect(body.buckets).toHaveLength(7)
    expect(body.buckets[0]?.time).toBe(since)
    const listed = await listedFrom(since, until_now)
    const counted = body.buckets.reduce((sum, { counts }) => sum + (counts.LOG ?? 0), 0)
    expect(counted).toBe(listed.length)
    expect(body.buckets[0]?.counts.LOG).toBeGreaterThan(0)
  })

  test('the last hour in sixty parts, unless the caller says otherwise', async () => {
    const { body } = await count('')
    expect(body.buckets).toHaveLength(60)
    const [first, second] = body.buckets.map(({ time }) => Date.parse(time))
    expect((second ?? 0) - (first ?? 0)).toBe(60_000)
    expect(body.buckets.at(-1)?.counts).toMatchObject({ ERROR: expect.any(Number), WARNING: expect.any(Number) })
  })

  test.each([
    ['buckets=0', 'query/buckets'],
    ['buckets=201', 'query/buckets'],
    ['since=2026-11-15T12:00:00Z&until=2026-11-15T12:00:00Z', 'query/since'],
    ['severities=LOUD', 'query/severities'],
    ['node=1', 'query/node'],
    ['cursor=x', 'query/cursor'],
  ])('refused: %s', async (query, where) => {
    const { status, body } = await count(query)
    expect([status, body.details]).toEqual([400, expect.stringContaining(where)])
  })

  /** The times of all entries from this moment on. */
  async function listedFrom(since: string, until_now: string): Promise<number[]> {
    const times: number[] = []
    const before = new Date(Date.parse(since) - 1).toISOString()
    const filters = `search=entry&severities=LOG&since=${before}&until=${until_now}`
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const { body }: { body: Logs } = await read(cursor === '' ? filters : `${filters}&cursor=${cursor}`)
      times.push(...(body.entries ?? []).map(({ timestamp }) => Date.parse(timestamp)))
      cursor = body.lastCursor
    }
    return times
  }
})

describe('refusals', () => {
  test.each([
    ['cursor=', 'query/cursor'],
    ['cursor=bm90LWEtY3Vyc29y', 'query/cursor'],
    ['cursor=%00%ff', 'query/cursor'],
    ['cursor=a&cursor=b', 'query/cursor'],
    ['after=x', 'query/after'],
    ['after=x&until=2026-11-15T12:00:00Z&page=2', 'query/until'],
    ['page=-1', 'query/page'],
    ['page=one', 'query/page'],
    ['page=1.5', 'query/page'],
    ['node=1', 'query/node'],
    ['node=-1', 'query/node'],
    ['severities=LOUD', 'query/severities'],
    ['since=yesterday', 'query/since'],
    ['until=2026-11-15T10:00:00', 'query/until'],
    [`search=${'x'.repeat(1_001)}`, 'query/search/0'],
    [Array.from({ length: 11 }, () => 'search=x').join('&'), 'query/search'],
  ])('%s', async (query, where) => {
    const { status, body } = await read(query)
    expect([status, body.code]).toEqual([400, 'INVALID_REQUEST'])
    expect(body.details).toContain(where)
  })

  test.each([
    ['severities=LOUD&page=20&since=2026-13-45T99:00:00Z', ['query/since', 'query/page']],
    ['severities=LOUD&severities=QUIET&node=1001&page=x', ['query/page', 'query/node', 'query/severities']],
  ])('several problems are told at once: %s', async (query, wrong) => {
    const { body } = await read(query)
    expect(body.details?.split('\n').map((line) => line.split(':')[0])).toEqual(wrong)
  })

  test('a cursor of another service', async () => {
    const other = await howdah.createService({ cpu_millis: 'shared' })
    const { lastCursor } = (await read()).body
    expect((await read(`cursor=${lastCursor}`, other.service_id)).status).toBe(400)
    expect((await read('', other.service_id)).status).toBe(200)
    await howdah.call('DELETE', `${howdah.services}/${other.service_id}`)
  })

  test('an unknown service', async () => {
    expect((await read('', 'nosuchid00')).body.message).toBe('no service with that id exists')
  })
})

test('no password appears, whichever role sets it and however it fails', async () => {
  const secret = 'Very-Secret-4711'
  const statements = [
    `create role bob login password '${secret}'`,
    `alter role bob password '${secret}'`,
    `alter role nobody_there password '${secret}'`,
    `alter role bob pasword '${secret}'`,
    `alter role bob password "${secret}"`,
    `alter role bob password '${secret}`,
    `alter role bob pasword ${secret}`,
    `do $$ begin execute format('alter role bob password %L', '${secret}'); perform 1/0; end $$`,
    `create function f(secret text) returns void language plpgsql as
     $$ begin execute format('alter role bob password %L', secret); perform 1/0; end $$`,
    `set log_parameter_max_length_on_error = -1`,
  ]
  for (const statement of statements) await client.query(statement).catch(() => undefined)
  await client.query('select f($1)', [secret]).catch(() => undefined)
  await client.query(`select pg_sleep(1.1), 'password', $1::text`, [secret])
  await howdah.call('POST', `${howdah.services}/${service.service_id}/updatePassword`, { password: secret })
  await client.query(`do $$ begin raise log 'all has been said'; end $$`)
  await logged('all has been said')
  const { body } = await read()
  expect(body.logs.filter((message) => message.includes(secret))).toEqual([])
  // It cannot be guessed by searching either.
  expect((await read(`search=${secret.slice(0, 6)}`)).body.logs).toEqual([])
  expect(body.logs).toContain('statement: create role bob login password [masked]')
  // On a busy machine other statements take so long too.
  expect(body.logs.filter((message) => message.includes('portal with [masked]'))).not.toEqual([])
  expect(body.logs.filter((message) => message.startsWith('duration: '))).not.toEqual([])
})

test('what the control plane does in the service does not show', async () => {
  const { body } = await read('search=connection')
  expect(body.logs.some((message) => message.startsWith('connection authorized: user=tsdbadmin'))).toBe(is_complete)
  const all = [...body.logs, ...(await read('search=howdah')).body.logs]
  expect(all.filter((message) => /user=postgres|connection received|application_name=howdah/.test(message))).toEqual([])
})

test('a stopped service still has its log, where logs are complete', async () => {
  await client.end()
  await howdah.call('POST', `${howdah.services}/${service.service_id}/stop`)
  await howdah.untilStatus(service.service_id, 'PAUSED')
  const { status, body } = await read('search=shut%20down')
  expect([status, body.logs.includes('database system is shut down')]).toEqual([200, is_complete])
})
