// Lists that go on, through the front door: events of a service and of a project, and logs, as the typed client reads them.
import { beforeAll, expect, test } from 'vitest'
import { newClient, type Client } from '#contract/client.ts'
import { Fault } from '#contract/fault.ts'
import { resumed } from '#contract/follow.ts'
import { newLog } from '#server/log.ts'
import { newCall } from '#test/call.ts'
import { needs } from '#test/offered.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { openCallers } from './callers.ts'
import { startInRegion } from './region.ts'

const howdah = shared(() => startInRegion({ log: newLog('warn', { write: (line) => void log_lines.push(line) }) }))
const callers = shared(() => openCallers(howdah))
let client: Client
const log_lines: string[] = []

beforeAll(async () => {
  connect()
})

/** A server that was started again listens at another port. */
function connect(): void {
  client = newClient({ base_url: howdah.server.api_url, token: howdah.token })
}

const at = (service_id: string) => ({ project_id: howdah.project_id, service_id })
const rename = (service_id: string, name: string) =>
  howdah.call('POST', `${howdah.services}/${service_id}/rename`, { name })

/** Reads until an entry satisfies, and leaves. */
async function readUntil<Item>(stream: AsyncGenerator<Item, void>, isLast: (item: Item) => boolean): Promise<Item[]> {
  const read: Item[] = []
  for await (const item of stream) {
    read.push(item)
    if (isLast(item)) break
  }
  return read
}

test('the events of a service come as they happen, and a stream that resumes repeats and misses none', async () => {
  const { service_id } = await howdah.createService()
  const listed = (await client.listServiceEvents(at(service_id))).toReversed()
  const whole = client.stream('listServiceEvents', at(service_id))
  const beginning = []
  for (const event of listed) beginning.push({ id: event.id, entry: event })
  const first = []
  for await (const event of whole) {
    first.push(event)
    if (first.length === listed.length) await rename(service_id, 'one')
    if (event.entry.message === 'a rename to one') break
  }
  expect(first.slice(0, listed.length)).toEqual(beginning)
  await rename(service_id, 'two')
  await rename(service_id, 'three')
  const last_event_id = first[listed.length - 1]?.id ?? ''
  const again = client.stream('listServiceEvents', { ...at(service_id), last_event_id })
  const rest = await readUntil(again, ({ entry }) => entry.message === 'a rename to three')
  expect(rest.slice(0, first.length - listed.length)).toEqual(first.slice(listed.length))
  const ids = rest.map(({ id }) => Number(id))
  expect(ids).toEqual(ids.toSorted((one, other) => one - other))
  const all = (await client.listServiceEvents(at(service_id))).toReversed()
  expect(rest.map(({ entry }) => entry)).toEqual(all.slice(listed.length, listed.length + rest.length))
})

test('a stream of a service that is removed ends with that event', async () => {
  const { service_id } = await howdah.createService()
  const stream = client.stream('listServiceEvents', at(service_id))
  const kinds: string[] = []
  const read = async () => {
    for await (const { entry } of stream) {
      // Of a service that is gone there would be no stream.
      if (kinds.length === 0) await howdah.call('DELETE', `${howdah.services}/${service_id}`)
      kinds.push(entry.kind)
    }
  }
  await expect(read()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(kinds.at(-1)).toBe('removed')
})

test('the events of a project are those of all its services, by kind and by service too, and of no other project', async () => {
  const [one, other] = [await howdah.createService(), await howdah.createService()]
  const { project_id } = howdah
  const { entries, last_cursor } = await client.listProjectEvents({ project_id, query: { limit: 50 } })
  expect(last_cursor).toBe(entries[0]?.id)
  const stream = client.stream('listProjectEvents', { project_id, last_event_id: last_cursor ?? '' })
  await rename(one.service_id, 'first')
  await rename(other.service_id, 'second')
  const read = await readUntil(stream, ({ entry }) => entry.message === 'a rename to second')
  const renamed = read.map(({ entry }) => entry).filter(({ message }) => message.startsWith('a rename'))
  expect(renamed.map(({ service_id, message }) => [service_id, message])).toEqual([
    [one.service_id, 'a rename to first'],
    [other.service_id, 'a rename to second'],
  ])
  const after = { after: last_cursor ?? '', service_id: other.service_id, kinds: ['requested' as const] }
  const later = await client.listProjectEvents({ project_id, query: after })
  expect(later.entries.map(({ message }) => message)).toEqual(['a rename to second'])
  const both_ways = client.listProjectEvents({ project_id, query: { after: '1', before: '9' } })
  await expect(both_ways).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
  const stranger = await callers.newToken('viewer', { project_id: await callers.newProject() })
  const foreign = newClient({ base_url: howdah.server.api_url, token: stranger.token })
  expect(await foreign.listProjectEvents({ project_id: stranger.project_id })).toEqual({ entries: [] })
  await expect(foreign.stream('listProjectEvents', { project_id }).next()).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('a request for events that waits is answered with the next one', async () => {
  const { service_id } = await howdah.createService()
  const { project_id } = howdah
  const messages: string[] = []
  const waitFor = async (message: string) => {
    let { last_cursor: after = '0' } = await client.listProjectEvents({ project_id, query: { limit: 1 } })
    while (!messages.includes(message)) {
      const { entries, last_cursor } = await client.listProjectEvents({
        project_id,
        query: { after, service_id },
        wait_seconds: 40,
      })
      messages.push(...entries.map((entry) => entry.message))
      after = last_cursor ?? after
    }
  }
  const waiting = waitFor('a rename to waited-for')
  await until(async () => {
    await rename(service_id, 'waited-for')
    return messages.length > 0
  })
  await waiting
  expect(messages).toContain('a rename to waited-for')
})

test('a log goes on, and each of its entries comes once', async (context) => {
  await needs(context, howdah, 'complete_logs')
  const { service_id } = await howdah.createService()
  const stream = client.stream('getServiceLogs', at(service_id))
  const first = await stream.next()
  expect(first.value).toMatchObject({ entry: { severity: expect.any(String), message: expect.any(String) } })
  await howdah.call('POST', `${howdah.services}/${service_id}/stop`)
  await howdah.untilStatus(service_id, 'PAUSED')
  const { entries = [] } = await client.getServiceLogs(at(service_id))
  const messages = entries.map(({ message }) => message).toReversed()
  const rest = []
  while (rest.length < messages.length - 1) rest.push((await stream.next()).value)
  await stream.return()
  expect([first.value, ...rest].map((one) => one?.entry.message)).toEqual(messages)
  const last_event_id = first.value?.id ?? ''
  const again = client.stream('getServiceLogs', { ...at(service_id), last_event_id })
  expect((await again.next()).value).toEqual(rest[0])
  await again.return()
})

test.each([
  ['getServiceLogs', { cursor: 'x' }, 'query/cursor'],
  ['getServiceLogs', { page: 1 }, 'query/page'],
  ['getServiceLogs', { until: '2026-11-15T12:00:00Z' }, 'query/until'],
  ['listServiceEvents', { kinds: ['none'] }, 'query/kinds'],
  ['listServiceEvents', { before: '7' }, 'query/before'],
] as const)('%s with %o is refused before anything is sent', async (name, query, where) => {
  const { service_id } = await howdah.createService()
  const path = name === 'getServiceLogs' ? 'logs' : 'events'
  const text = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)]))
  const accept = 'text/event-stream'
  const answer = await howdah.call('GET', `${howdah.services}/${service_id}/${path}?${text}`, undefined, { accept })
  expect(answer).toMatchObject({ status: 400, body: { details: expect.stringContaining(where) } })
})

test.each(['getServiceLogs', 'listServiceEvents'] as const)('%s resumes after its own events only', async (name) => {
  const { service_id } = await howdah.createService()
  for (const last_event_id of ['none', '-1', 'MDo5OTE4Nw', '99999999999999999999']) {
    const stream = client.stream(name, { ...at(service_id), last_event_id })
    await expect(stream.next()).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
  }
})

test('a token that is revoked ends its streams', async () => {
  const { service_id } = await howdah.createService()
  const { token, public_key } = await callers.newToken('viewer')
  const stream = newClient({ base_url: howdah.server.api_url, token }).stream('listServiceEvents', at(service_id))
  const read = async () => {
    for await (const { entry } of stream) {
      if (entry.kind !== 'created') continue
      const revoked = await howdah.call('DELETE', `/projects/${howdah.project_id}/tokens/${public_key}`)
      expect(revoked.status).toBe(204)
    }
  }
  await expect(read()).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
})

test('a stream that is followed outlives its token where there is a new one, and no longer', async () => {
  const { service_id } = await howdah.createService()
  const { token, public_key } = await callers.newToken('viewer')
  const tokens = [token, howdah.token]
  const renewing = newClient({ base_url: howdah.server.api_url, token: () => tokens.shift() ?? 'none' })
  const seen: number[] = []
  const followed = resumed(renewing, 'listServiceEvents', at(service_id))
  await rename(service_id, 'before')
  for await (const { entry } of followed) {
    seen.push(Number(entry.id))
    if (entry.message === 'a rename to after') break
    if (entry.message !== 'a rename to before') continue
    expect((await howdah.call('DELETE', `/projects/${howdah.project_id}/tokens/${public_key}`)).status).toBe(204)
    await until(async () => {
      const { status } = await newCall(howdah.server.api_url, token)('GET', '/projects')
      return status === 401
    })
    await rename(service_id, 'after')
  }
  expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b))
  expect(tokens).toEqual([])
  const refused = resumed(newClient({ base_url: howdah.server.api_url, token }), 'listServiceEvents', at(service_id))
  await expect(refused.next()).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
})

test('a refusal is a Fault like any other', async () => {
  const stream = client.stream('listServiceEvents', at('nosuchid00'))
  await expect(stream.next()).rejects.toBeInstanceOf(Fault)
})

test('a signal ends a stream, and a server that is stopped ends all without a fault', async () => {
  const { service_id } = await howdah.createService()
  const leaving = new AbortController()
  const left = client.stream('listServiceEvents', { ...at(service_id), signal: leaving.signal })
  await left.next()
  leaving.abort()
  const drained = async (stream: AsyncGenerator<unknown, void>) => {
    while (!(await stream.next()).done);
  }
  await expect(drained(left)).rejects.toThrow(/abort/i)
  const ended = client.stream('listServiceEvents', at(service_id))
  await ended.next()
  const restarted = howdah.restart()
  await drained(ended)
  await restarted
  expect(log_lines.filter((line) => line.includes('some requests are aborted'))).toEqual([])
  connect()
})

test('a replica set has a log of its own, as a list and as a stream', async () => {
  const { service_id } = await howdah.createService()
  const sets = `${howdah.services}/${service_id}/replicaSets`
  const { body } = await howdah.call<{ id: string }>('POST', sets, { name: 'readers' })
  const set = { ...at(service_id), replica_set_id: body.id }
  const entry = await until(async () => (await client.getReplicaSetLogs(set)).entries?.at(-1))
  const stream = client.stream('getReplicaSetLogs', set)
  expect((await stream.next()).value?.entry).toEqual(entry)
  await stream.return()
  const refused = await howdah.call('GET', `${sets}/${body.id}/logs?node=9`)
  expect(refused).toMatchObject({ status: 400, body: { details: expect.stringContaining('query/node') } })
  const unknown = client.getReplicaSetLogs({ ...set, replica_set_id: 'nosuchid00' })
  await expect(unknown).rejects.toMatchObject({ code: 'NOT_FOUND' })
})
