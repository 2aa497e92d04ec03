// The events of a project become readable in the order of their ids, however the transactions that add them overlap.
import { shared } from '#test/shared.ts'
import { expect, test } from 'vitest'
import { insertEvent, listEvents } from '#server/event.ts'
import { eventTails } from '#server/service/events.ts'
import { events_per_service_max, removeOldEvents } from '#server/event-retention.ts'
import { newId } from '#server/id.ts'
import { announceSettled, newSettled } from '#server/settled.ts'
import { until } from '#test/until.ts'
import { openTestDb } from './test-store.ts'

const db = shared(openTestDb)

async function newProject(): Promise<string> {
  const project_id = newId()
  await db.query(`insert into projects (id, name) values ($1, 'a project')`, [project_id])
  return project_id
}

async function newService(project_id: string): Promise<string> {
  const service_id = newId()
  await db.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment, password_verifier)
     values ($1, $2, 'a service', 'here', 'POSTGRES', 'DEV', '')`,
    [service_id, project_id],
  )
  return service_id
}

const all = { kinds: [], limit: 500 } as const
const messagesOf = async (project_id: string, more: { after?: number; service_id?: string } = {}) =>
  (await listEvents(db, { ...all, project_id, ...more })).map(({ message }) => message)

/** A transaction that adds an event and stays open until it may end. */
function addSlowly(service_id: string, message: string) {
  const added = Promise.withResolvers<void>()
  const may_end = Promise.withResolvers<void>()
  const ended = db.transaction(async (tx) => {
    await insertEvent(tx, service_id, 'progress', message)
    added.resolve()
    await may_end.promise
  })
  return { added: added.promise, end: may_end.resolve, ended }
}

test('an event that comes later is not read before one that is still being added', async () => {
  const project_id = await newProject()
  const [one, other] = [await newService(project_id), await newService(project_id)]
  const first = addSlowly(one, 'first')
  await first.added
  const second = db.transaction((tx) => insertEvent(tx, other, 'progress', 'second'))
  await until(async () => {
    const waiting = await db.query(`select from pg_locks where locktype = 'advisory' and not granted`)
    return waiting.length === 1
  })
  expect(await messagesOf(project_id)).toEqual([])
  first.end()
  await Promise.all([first.ended, second])
  expect(await messagesOf(project_id)).toEqual(['second', 'first'])
  expect(await messagesOf(project_id, { after: 0 })).toEqual(['first', 'second'])
  expect(await messagesOf(project_id, { after: 0, service_id: other })).toEqual(['second'])
})

test('pages before the oldest event so far lead to the very first', async () => {
  const project_id = await newProject()
  const service_id = await newService(project_id)
  const messages = Array.from({ length: 7 }, (_, at) => `event ${at}`)
  for (const message of messages) await db.transaction((tx) => insertEvent(tx, service_id, 'progress', message))
  const read: string[] = []
  let before: number | undefined
  for (;;) {
    const page = await listEvents(db, { ...all, project_id, limit: 3, before })
    read.push(...page.map(({ message }) => message))
    before = page.at(-1)?.id
    if (page.length < 3) break
  }
  expect(read).toEqual(messages.toReversed())
})

test('events are removed after a year, those of removed services after 35 days, and the oldest where a service has too many', async () => {
  const project_id = await newProject()
  const [kept, removed, talkative] = [await newService(project_id), newId(), await newService(project_id)]
  const add = (service_id: string, days: number, count = 1) =>
    db.query(
      `insert into service_events (project_id, service_id, time, kind, message)
       select $1, $2, now() - $3 * interval '1 day', 'progress', $3 || ' days, ' || n from generate_series(1, $4::int) n`,
      [project_id, service_id, days, count],
    )
  for (const days of [400, 366, 364, 36]) await add(kept, days)
  for (const days of [400, 36, 34]) await add(removed, days)
  await add(talkative, 2, 3)
  await add(talkative, 1, events_per_service_max)
  await removeOldEvents(db)
  expect(await messagesOf(project_id, { service_id: kept })).toEqual(['36 days, 1', '364 days, 1'])
  expect(await messagesOf(project_id, { service_id: removed })).toEqual(['34 days, 1'])
  const left = await db.query<{ count: number; oldest: string }>(
    `select count(*), min(message) as oldest from service_events where service_id = $1`,
    [talkative],
  )
  expect(left).toEqual([{ count: events_per_service_max, oldest: '1 days, 1' }])
})

test('projects do not wait for each other', async () => {
  const [one, other] = [await newProject(), await newProject()]
  const slow = addSlowly(await newService(one), 'slow')
  await slow.added
  const service_id = await newService(other)
  await db.transaction((tx) => insertEvent(tx, service_id, 'progress', 'at once'))
  expect(await messagesOf(other)).toEqual(['at once'])
  slow.end()
  await slow.ended
  expect(await messagesOf(one)).toEqual(['slow'])
})

test('the last event of a service that is removed while its stream reads is told before the stream ends', async () => {
  const project_id = await newProject()
  const service_id = await newService(project_id)
  const settled = newSettled(db)
  const { listServiceEvents } = eventTails({ db, settled })
  const user = { id: '1', email: 'reader@example.com', name: 'reader' }
  const asked = { body: undefined, idempotency_key: undefined, wait_seconds: 0, request_id: 'one' }
  const request = {
    ...asked,
    caller: { type: 'oauth', user },
    role: 'viewer',
    params: { project_id, service_id },
    query: {},
  } as const
  const reading = await db.transaction(async (tx) => {
    await tx.query('lock table service_events')
    const read = listServiceEvents.read(request, '0')
    await until(async () => (await db.query('select from pg_locks where not granted')).length === 1)
    await insertEvent(tx, service_id, 'removed', 'the last word')
    await tx.query('delete from services where service_id = $1', [service_id])
    return { read }
  })
  const { entries, at } = await reading.read
  expect(entries.map(({ entry }) => entry.message)).toEqual(['the last word'])
  await expect(listServiceEvents.read(request, at)).rejects.toThrow('no service with that id exists')
  settled.close()
})

test('a request that waits reads once at a time, and once more when it was told of news meanwhile', async () => {
  const settled = newSettled(db)
  const id = newId()
  let [reads, told] = [0, 0]
  const first = Promise.withResolvers<void>()
  const read = async () => {
    reads += 1
    if (reads === 1) await first.promise
    return reads
  }
  const seen = settled.see(id, read, (count) => count === 2, 3_600_000)
  const unwatch = settled.watch(id, () => void (told += 1))
  await until(async () => {
    await announceSettled(db, id)
    return told >= 3
  })
  expect(reads).toBe(1)
  first.resolve()
  expect(await seen).toBe(2)
  unwatch()
})
