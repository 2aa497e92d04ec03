// Rewinds, resets and masks by the API: what is refused, what is kept, and what is told.
import { beforeEach, expect, test } from 'vitest'
import { openStoreOf } from '#test/database.ts'
import { needs } from '#test/offered.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { startInRegion } from './region.ts'

type Seen = { id: string; kind: string; status: string; taken?: string }

const howdah = shared(startInRegion)

beforeEach((context) => needs(context, howdah, 'rewinds'))

const placeOf = (service_id: string) => `${howdah.services}/${service_id}`
const completeOf = async (at: string) =>
  (await howdah.call<Seen[]>('GET', `${at}/snapshots`)).body.filter(({ status }) => status === 'complete')
const eventsOf = async (service_id: string) =>
  (await howdah.eventsOf(service_id)).map(({ kind, message }) => `${kind}: ${message}`)

test('a service goes back to a moment and back again, and the state before is kept', async () => {
  const { service_id } = await howdah.createService()
  const at = placeOf(service_id)
  const conflict = { status: 409, body: { message: expect.stringContaining('there is no rewind to undo') } }
  expect(await howdah.call('POST', `${at}/undoRewind`)).toMatchObject(conflict)
  const [first] = await until(async () => {
    const found = await completeOf(at)
    return found.length > 0 && found
  })
  const refused = await howdah.call('POST', `${at}/rewind`, { target_time: '2020-01-01T00:00:00Z' })
  expect(refused.body.details).toContain('/target_time: is outside the moments that can be restored')
  const none = await howdah.call('POST', `${at}/rewind`, { target_time: '2026-02-30T00:00:00Z' })
  expect(none).toMatchObject({ status: 400 })

  const target_time = first?.taken ?? ''
  const rewind = await howdah.call('POST', `${at}/rewind`, { target_time })
  expect(rewind).toMatchObject({ status: 202, body: { status: 'CONFIGURING' } })
  await howdah.untilStatus(service_id, 'READY')
  const kinds = async () => (await completeOf(at)).map(({ kind }) => kind).toSorted()
  await until(async () => (await kinds()).join() === 'initial,now,rewind')
  expect(await eventsOf(service_id)).toContain('rewound: its data is that of the moment')

  const before = (await completeOf(at)).find(({ kind }) => kind === 'rewind')
  expect(await howdah.call('POST', `${at}/undoRewind`)).toMatchObject({ status: 202 })
  await howdah.untilStatus(service_id, 'READY')
  expect(await eventsOf(service_id)).toContain(`requested: undoing of the rewind, back to ${before?.taken}`)
  // The state before an earlier rewind goes when a later one is kept.
  await until(async () => {
    const rewinds = (await completeOf(at)).filter(({ kind }) => kind === 'rewind')
    return rewinds.length === 1 && rewinds[0]?.id !== before?.id
  })
})

test('a rewind that cannot be made leaves the service as it is, and nothing to undo', async () => {
  const { service_id } = await howdah.createService()
  const at = placeOf(service_id)
  await until(async () => (await completeOf(at)).length > 0)
  await rewindInVain(service_id)
  expect(await eventsOf(service_id)).toContain(
    'setback: its data stays as it is: no snapshot leads to that moment any more',
  )
  await until(async () => (await howdah.call('POST', `${at}/undoRewind`)).status === 409)
})

test('a rewind that cannot be made leaves the one before it to be undone', async () => {
  const { service_id } = await howdah.createService()
  const at = placeOf(service_id)
  const stateBefore = async () => (await completeOf(at)).find(({ kind }) => kind === 'rewind')
  const [first] = await until(async () => {
    const found = await completeOf(at)
    return found.length > 0 && found
  })
  await howdah.call('POST', `${at}/rewind`, { target_time: first?.taken })
  await howdah.untilStatus(service_id, 'READY')
  const before = await until(stateBefore)
  await rewindInVain(service_id)
  await until(async () => (await howdah.call('POST', `${at}/undoRewind`)).status === 202)
  await howdah.untilStatus(service_id, 'READY')
  expect(await eventsOf(service_id)).toContain(`requested: undoing of the rewind, back to ${before.taken}`)
})

/** The store says of its first snapshot that it is older than it is in the region. */
async function rewindInVain(service_id: string): Promise<void> {
  const db = openStoreOf(howdah)
  const early = [service_id, '2020-01-01T00:00:00Z']
  await until(async () => {
    await db.query(`update snapshots set taken_at = $2 where service_id = $1 and kind = 'initial'`, early)
    await db.query('update services set restorable_from = $2 where service_id = $1', early)
    const late = { target_time: '2021-01-01T00:00:00Z' }
    return (await howdah.call('POST', `${placeOf(service_id)}/rewind`, late)).status === 202
  })
  await db.close()
  await howdah.untilStatus(service_id, 'READY')
}

test('a fork is reset to its parent, which must be there; a service that is no fork is not', async () => {
  const parent = await howdah.createService()
  const refused = await howdah.call('POST', `${placeOf(parent.service_id)}/reset`)
  expect(refused).toMatchObject({ status: 400, body: { message: expect.stringContaining('the service is no fork') } })
  const fork = { fork_strategy: 'NOW', mask: 'delete from secrets' }
  const { service_id } = (await howdah.call('POST', `${placeOf(parent.service_id)}/forkService`, fork)).body
  const at = placeOf(service_id ?? '')
  await howdah.untilStatus(service_id ?? '', 'READY')
  const [own] = await until(async () => {
    const found = await completeOf(at)
    return found.length > 0 && found
  })
  expect(await howdah.call('POST', `${at}/reset`)).toMatchObject({ status: 202, body: { status: 'CONFIGURING' } })
  await howdah.untilStatus(service_id ?? '', 'READY')
  await until(async () => (await completeOf(at)).some(({ id }) => id !== own?.id))
  await until(async () => (await completeOf(at)).every(({ id }) => id !== own?.id))

  const set = { name: 'readers', nodes: 1, cpu_millis: '500', memory_gbs: '2' }
  const { id } = (await howdah.call<{ id: string }>('POST', `${at}/replicaSets`, set)).body
  expect(await howdah.call('POST', `${at}/reset`)).toMatchObject({
    status: 409,
    body: { message: 'a fork with read replica sets cannot be reset; delete these first' },
  })
  await howdah.call('DELETE', `${at}/replicaSets/${id}`)
  await howdah.call('DELETE', placeOf(parent.service_id))
  await until(async () => (await howdah.call('POST', `${at}/reset`)).body.message?.includes('is gone;'))
})

test('a fork that could never be made is not reset, rewound, forked or snapshot, and the answer says what to do', async () => {
  const parent = await howdah.createService()
  const fork = (await howdah.call('POST', `${placeOf(parent.service_id)}/forkService`, { fork_strategy: 'NOW' })).body
  await howdah.untilStatus(fork.service_id ?? '', 'READY')
  const db = openStoreOf(howdah)
  const requests = [
    ['reset'],
    ['rewind', { target_time: new Date().toISOString() }],
    ['forkService', { fork_strategy: 'NOW' }],
    ['forkService', { fork_strategy: 'LAST_SNAPSHOT' }],
    ['snapshots'],
  ] as const
  for (const [request, body] of requests) {
    // A pass over it may end meanwhile.
    const refused = await until(async () => {
      const failed = 'update services set settled_generation = 0, source_failed = true where service_id = $1'
      await db.query(failed, [fork.service_id])
      const answer = await howdah.call('POST', `${placeOf(fork.service_id ?? '')}/${request}`, body)
      return answer.body.code === 'WRONG_STATE' && answer
    })
    expect(refused.status).toBe(400)
    expect(refused.body.message).toBe('the service never had data, and its events say why; delete it and make it anew')
  }
  await db.close()
})
