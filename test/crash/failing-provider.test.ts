// What the server makes of a provider that fails, on one that fails when it is told to: what people read, when it is tried again, and
// that all is well once it works.
import { beforeAll, expect, test } from 'vitest'
import type { MemoryProvider } from '#providers/memory/memory.ts'
import { nudge } from '#server/work.ts'
import { openStoreOf } from '#test/database.ts'
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'

const regions = [
  { region_code: 'local', provider: 'memory' },
  { region_code: 'slow', provider: 'memory', delay_seconds: 3600 },
] as const
const howdah = shared(() => startInstallation({ config: { regions } }))
const db = shared(() => openStoreOf(howdah))
let provider: MemoryProvider

beforeAll(() => {
  provider = providerOf('local')
})

// The regions that are configured above.
const providerOf = (region_code: 'local' | 'slow') => howdah.server.regions.get(region_code) as MemoryProvider
const at = (service_id: string, verb = '') => `${howdah.services}/${service_id}${verb}`
const statusOf = async (service_id: string) => (await howdah.call('GET', at(service_id))).body.status
const eventsOf = async (service_id: string) =>
  (await howdah.eventsOf(service_id)).map(({ kind, message }) => `${kind}: ${message}`)
const untilTold = (service_id: string, event: string) =>
  until(async () => (await eventsOf(service_id)).includes(event), { what: event })
const workOf = async (key: string) => {
  const [row] = await db.query<{ attempts: number; error: string | null }>(
    'select attempts, error from work where key = $1',
    [key],
  )
  return row
}

test('a service that cannot be started again is UNSTABLE with the reason of its provider, and READY when it can', async () => {
  const { service_id } = await howdah.createService()
  const reason = 'port 5432 is in use by another program; stop that program'
  provider.failures.set(service_id, reason)
  provider.crash(service_id)
  await howdah.untilStatus(service_id, 'UNSTABLE')
  await untilTold(service_id, `setback: ${reason}`)
  await untilTold(service_id, 'unstable: the service does not answer')
  provider.failures.delete(service_id)
  await howdah.untilStatus(service_id, 'READY')
  await untilTold(service_id, 'recovered: the service answers again')
})

test('a change that its provider cannot make waits in the words of its provider, can be taken back, and the service serves', async () => {
  const { service_id } = await howdah.createService({ cpu_millis: '500', memory_gbs: '2' })
  const reason = 'this host has too little memory; choose a smaller size'
  provider.failures.set(service_id, reason)
  const resize = (cpu_millis: string, memory_gbs: string) =>
    howdah.call('POST', at(service_id, '/resize'), { cpu_millis, memory_gbs })
  expect((await resize('4000', '16')).status).toBe(202)
  await untilTold(service_id, `setback: ${reason}`)
  expect(await statusOf(service_id)).toBe('CONFIGURING')
  expect((await resize('500', '2')).status).toBe(202)
  provider.failures.delete(service_id)
  await howdah.untilStatus(service_id, 'READY')
  expect((await eventsOf(service_id)).some((event) => event.startsWith('unstable'))).toBe(false)
})

test('an error of a provider is tried again later and later, told once and without its words, and its end is told too', async () => {
  const { service_id } = await howdah.createService()
  provider.failures.set(service_id, new Error('/secret/path: no such file'))
  provider.crash(service_id)
  await howdah.untilStatus(service_id, 'UNSTABLE')
  await until(async () => ((await workOf(service_id))?.attempts ?? 0) >= 2, { what: 'it was tried again' })
  expect(await workOf(service_id)).toMatchObject({ error: '/secret/path: no such file' })
  const setback = 'setback: an unexpected error; the server log has the details, and it is tried again'
  const events = await eventsOf(service_id)
  expect(events.filter((event) => event.startsWith('setback'))).toEqual([setback])
  expect(events.join()).not.toContain('secret')
  provider.failures.delete(service_id)
  await howdah.untilStatus(service_id, 'READY')
  await until(async () => (await workOf(service_id))?.attempts === 0)
  expect(await workOf(service_id)).toMatchObject({ error: null })
})

test('a request begins the tries anew: it does not wait for the next one', async () => {
  const { service_id } = await howdah.createService()
  provider.failures.set(service_id, new Error('not now'))
  provider.crash(service_id)
  await until(async () => ((await workOf(service_id))?.attempts ?? 0) >= 1)
  // As after many tries.
  await db.query(`update work set attempts = 9, due_at = now() + interval '5 minutes' where key = $1`, [service_id])
  provider.failures.delete(service_id)
  expect((await howdah.call('POST', at(service_id, '/stop'))).status).toBe(202)
  await howdah.untilStatus(service_id, 'PAUSED')
})

test('a service that is long in the making is UNSTABLE only after its tries have failed for ten minutes, until they go on', async () => {
  const body = { name: 'slow', region_code: 'slow', cpu_millis: 'shared' }
  const { service_id } = (await howdah.call('POST', howdah.services, body)).body
  const pass = () => nudge(db, 'service', service_id)
  await untilTold(service_id, 'progress: the delay of this region is not over yet')
  await db.query(`update services set created = created - interval '1 hour' where service_id = $1`, [service_id])
  expect(await statusOf(service_id)).toBe('CONFIGURING')
  const reason = 'this host has too little memory; choose a smaller size'
  providerOf('slow').failures.set(service_id, reason)
  await pass()
  await untilTold(service_id, `setback: ${reason}`)
  expect(await statusOf(service_id)).toBe('CONFIGURING')
  await db.query(
    `update services set failing_since = failing_since - interval '601 seconds', observed_at = null where service_id = $1`,
    [service_id],
  )
  expect(await statusOf(service_id)).toBe('UNSTABLE')
  const observed = 'select from services where service_id = $1 and observed_at is not null'
  await until(async () => (await db.query(observed, [service_id])).length, { what: 'one more try' })
  expect(await statusOf(service_id)).toBe('UNSTABLE')
  providerOf('slow').failures.delete(service_id)
  await pass()
  await howdah.untilStatus(service_id, 'CONFIGURING')
})

test('a service that cannot be removed is DELETING until it can', async () => {
  const { service_id } = await howdah.createService()
  provider.failures.set(service_id, new Error('not now'))
  expect((await howdah.call('DELETE', at(service_id))).status).toBe(202)
  await until(async () => (await workOf(service_id))?.error === 'not now')
  expect(await statusOf(service_id)).toBe('DELETING')
  provider.failures.delete(service_id)
  await howdah.untilStatus(service_id, 'removed')
})

test('a replica set that cannot be made says so, and its service serves on', async () => {
  const { service_id } = await howdah.createService()
  const set = { name: 'readers', nodes: 1, cpu_millis: '500', memory_gbs: '2' }
  const { id } = (await howdah.call<{ id: string }>('POST', at(service_id, '/replicaSets'), set)).body
  await howdah.untilStatus(id, 'READY')
  const reason = 'its standby cannot log in to the primary'
  provider.failures.set(id, reason)
  provider.crash(id)
  await howdah.untilStatus(id, 'UNSTABLE')
  await untilTold(service_id, `setback: replica set readers: ${reason}`)
  expect(await statusOf(service_id)).toBe('READY')
  provider.failures.delete(id)
  await howdah.untilStatus(id, 'READY')
})
