// What is refused, by which code and with which words: wrong states, and what this installation does not offer. Nothing
// refused leaves a trace.
import { describe, expect, test } from 'vitest'
import { services_per_project_max } from '#server/service/rules.ts'
import { openStoreOf } from '#test/database.ts'
import { giveAddresses } from '#test/addresses.ts'
import { shared } from '#test/shared.ts'
import { startInRegion } from './region.ts'

const howdah = shared(startInRegion)
const db = shared(() => openStoreOf(howdah))

const small = { cpu_millis: '500', memory_gbs: '2' }
const create = (input: Record<string, unknown>) => howdah.call('POST', howdah.services, { name: 'refused', ...input })

async function expectRefusal(input: Record<string, unknown>, ...words: string[]): Promise<void> {
  const before = await countServices()
  const answer = await create(input)
  expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
  for (const word of words) expect(answer.body.details).toContain(word)
  expect(await countServices()).toBe(before)
}

async function countServices(): Promise<number> {
  const [row] = await db.query<{ count: number }>('select count(*) as count from services')
  return row?.count ?? -1
}

describe('the status decides what is possible', () => {
  const verbs: [verb: string, body: unknown, accepts: readonly string[]][] = [
    ['stop', undefined, ['READY', 'UNSTABLE']],
    ['start', undefined, ['PAUSED']],
    ['resize', small, ['READY', 'CONFIGURING with a setback']],
    ['updatePassword', { password: 'long enough' }, ['READY']],
    ['setHA', { replica_count: 1 }, ['READY', 'CONFIGURING with a setback']],
    ['switchover', undefined, ['READY']],
    ['undoRewind', undefined, ['READY', 'UNSTABLE']],
    ['reset', undefined, ['READY', 'UNSTABLE']],
    ['enablePooler', undefined, ['READY']],
    ['disablePooler', undefined, ['READY']],
    ['replicaSets', { name: 'a set', nodes: 1, ...small }, ['READY']],
  ]
  const any_but_deleting =
    'QUEUED, CONFIGURING, READY, DELETED, UNSTABLE, PAUSING, PAUSED, RESUMING, UPGRADING, OPTIMIZING'

  // Rows in each status without a database behind them. No work is queued for them, so they stay as they are.
  const states: [status: string, columns: string][] = [
    ['QUEUED', `'on', 1, 1, 0, 'unknown', null`],
    ['CONFIGURING', `'on', 1, 1, 0, 'absent', null`],
    ['READY', `'on', 1, 1, 1, 'serving', null`],
    ['UNSTABLE', `'on', 1, 1, 1, 'not_serving', null`],
    ['PAUSING', `'off', 2, 2, 1, 'serving', null`],
    ['PAUSED', `'off', 2, 2, 2, 'stopped', null`],
    ['RESUMING', `'on', 3, 3, 2, 'stopped', null`],
    ['DELETING', `'on', 1, 1, 1, 'serving', now()`],
  ]

  async function insertIn(columns: string): Promise<string> {
    const [row] = await db.query<{ service_id: string }>(
      `insert into services (service_id, project_id, name, region_code, service_type, environment,
         cpu_millis, memory_gbs, password_verifier, power, generation, power_generation, settled_generation, state,
         deleted_at)
       select substr(md5(random()::text), 1, 10), id, 'in a state', 'elsewhere', 'POSTGRES', 'DEV', 500, 2, '', ${columns}
       from projects returning service_id`,
    )
    await giveAddresses(db)
    return row?.service_id ?? ''
  }

  test.each(states)('a service that is %s refuses what does not fit', async (status, columns) => {
    const at = `${howdah.services}/${await insertIn(columns)}`
    expect((await howdah.call('GET', at)).body.status).toBe(status)
    for (const [verb, body, accepts] of verbs) {
      if (accepts.includes(status)) continue
      expect(await howdah.call('POST', `${at}/${verb}`, body), verb).toMatchObject({
        status: 400,
        body: {
          code: 'WRONG_STATE',
          message: `the service is ${status}; this is possible when it is ${accepts.join(', ')}`,
        },
      })
    }
    const renamed = await howdah.call('POST', `${at}/rename`, { name: 'renamed' })
    const tagged = await howdah.call('POST', `${at}/setEnvironment`, { environment: 'PROD' })
    if (status === 'DELETING') {
      const message = `the service is DELETING; this is possible when it is ${any_but_deleting}`
      for (const answer of [renamed, tagged]) {
        expect(answer).toMatchObject({ status: 400, body: { code: 'WRONG_STATE', message } })
      }
    } else {
      expect([renamed.status, tagged.status]).toEqual([200, 200])
    }
    expect((await howdah.call('GET', at)).body).toMatchObject({
      status,
      name: status === 'DELETING' ? 'in a state' : 'renamed',
    })
    await db.query(`delete from services where region_code = 'elsewhere'`)
  })

  test('a real service refuses a start while it runs, and a stop, a resize and a password while it is paused', async () => {
    const { service_id } = await howdah.createService({ cpu_millis: 'shared' })
    const verb = (name: string, body?: unknown) => howdah.call('POST', `${howdah.services}/${service_id}/${name}`, body)
    expect(await verb('start')).toMatchObject({ status: 400, body: { code: 'WRONG_STATE' } })
    expect(await verb('stop')).toMatchObject({ status: 202, body: { status: 'PAUSING' } })
    await howdah.untilStatus(service_id, 'PAUSED')
    for (const [name, body] of verbs.filter(([name]) => name !== 'start')) {
      expect(await verb(name, body), name).toMatchObject({ status: 400, body: { code: 'WRONG_STATE' } })
    }
    await howdah.call('DELETE', `${howdah.services}/${service_id}`)
    await howdah.untilStatus(service_id, 'removed')
  })

  test('a change that cannot be made can be taken back, and others wait', async () => {
    for (const [verb, body] of verbs) {
      const service_id = await insertIn(`'on', 2, 1, 1, 'serving', null`)
      await db.query(`update services set shape_generation = 2, waiting_for = 'no space' where service_id = $1`, [
        service_id,
      ])
      const at = `${howdah.services}/${service_id}`
      expect((await howdah.call('GET', at)).body.status).toBe('CONFIGURING')
      const status = ['resize', 'setHA'].includes(verb) ? 202 : 400
      expect(await howdah.call('POST', `${at}/${verb}`, body), verb).toMatchObject({ status })
    }
    await db.query(`delete from services where region_code = 'elsewhere'`)
  })

  test('a delete may be repeated while the service is DELETING', async () => {
    const at = `${howdah.services}/${await insertIn(`'on', 1, 1, 1, 'serving', now()`)}`
    expect([(await howdah.call('DELETE', at)).status, (await howdah.call('DELETE', at)).status]).toEqual([202, 202])
    await db.query(`delete from services where region_code = 'elsewhere'`)
  })
})

describe('what this installation does not offer', () => {
  test('a size that does not exist is refused with the list of those that do', async () => {
    const list = '500/2, 1000/4, 2000/8, 4000/16, 8000/32, 16000/64, 32000/128'
    await expectRefusal(
      { cpu_millis: '500', memory_gbs: '4' },
      `/cpu_millis: is no size together with /memory_gbs; the sizes are ${list}, shared/shared`,
    )
    await expectRefusal({ cpu_millis: '750' }, '/cpu_millis: is not that of a size')
    await expectRefusal({ memory_gbs: 3 }, '/memory_gbs: is not that of a size')
    await expectRefusal({ cpu_millis: 'shared', memory_gbs: '2' }, '/cpu_millis: is no size together with /memory_gbs')
  })

  test('an unknown region is refused with the list of regions', async () => {
    await expectRefusal({ region_code: 'moon' }, 'there is no region "moon"; the regions are local')
  })

  test('more synchronous replicas than replicas are refused', async () => {
    await expectRefusal({ sync_replica_count: 1 }, '/sync_replica_count: must be at most /replica_count')
    await expectRefusal({ replica_count: 1, sync_replica_count: 2 }, 'they are 2 and 1')
    await expectRefusal({ replica_count: 6 }, '/replica_count: must be at most 5')
  })
})

test('a project that is full refuses one more service and says what to do', async () => {
  await db.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment,
       password_verifier)
     select substr(md5(number::text), 1, 10), projects.id, 'full', 'elsewhere', 'POSTGRES', 'DEV', ''
     from generate_series(1, $1) as number, projects`,
    [services_per_project_max],
  )
  expect(await create({})).toMatchObject({
    status: 403,
    body: {
      code: 'QUOTA_EXCEEDED',
      message:
        'a project has at most 1000 services, deleted ones that are kept included; delete and purge one, or create another project',
    },
  })
  await db.query(`delete from services where region_code = 'elsewhere'`)
  expect((await create({ cpu_millis: 'shared' })).status).toBe(202)
})

test.each(['0000000000', 'short', 'UPPERCASE0', 'with-dash0', 'x'.repeat(200), '%00', "'; drop table services"])(
  'the unknown or malformed id %j is a service that does not exist',
  async (id) => {
    const at = `${howdah.services}/${encodeURIComponent(id)}`
    const body = { code: 'NOT_FOUND', message: 'no service with that id exists' }
    expect(await howdah.call('GET', at)).toMatchObject({ status: 404, body })
    expect(await howdah.call('DELETE', at)).toMatchObject({ status: 404, body })
    expect(await howdah.call('POST', `${at}/stop`)).toMatchObject({ status: 404, body })
    expect(await howdah.call('POST', `${at}/resize`, small)).toMatchObject({ status: 404, body })
    expect(await howdah.call('GET', `${at}/events`)).toMatchObject({ status: 404, body })
    const elsewhere = await howdah.call('GET', `/projects/${encodeURIComponent(id)}/services`)
    expect(elsewhere).toMatchObject({ status: 404, body: { message: 'no project with that id exists' } })
  },
)
