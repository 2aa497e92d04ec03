// Changes of mind in the middle, and many requests at once: the ends are consistent. Where the moment matters, the
// provider is held at an effect while the other request comes.
import { afterEach, beforeAll, expect, test } from 'vitest'
import type { Service } from '#contract/service.ts'
import { ask } from '#test/database.ts'
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { orphansOf } from '#test/traces.ts'

const howdah = shared(() => startInstallation({ effect: (name) => atEffect?.(name) }))
let atEffect: ((name: string) => Promise<void>) | undefined

beforeAll(async () => {
  // The first one also waits for the template, which is no matter here.
  await remove((await howdah.createService({ cpu_millis: 'shared' })).service_id)
})

afterEach(() => {
  atEffect = undefined
})

const at = (service_id: string, verb = '') => `${howdah.services}/${service_id}${verb}`
const create = () => howdah.call('POST', howdah.services, { name: 'many', cpu_millis: 'shared' })

async function remove(service_id: string): Promise<void> {
  expect((await howdah.call('DELETE', at(service_id))).status).toBe(202)
  await howdah.untilStatus(service_id, 'removed')
}

/** Fulfilled when the effect has been reached and the meanwhile is over; the effect itself comes after it. */
function during(effect: string, meanwhile: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    let reached = false
    atEffect = async (name) => {
      if (reached || name !== effect) return
      reached = true
      await meanwhile().then(resolve, reject)
    }
  })
}

test.each([
  'home: make',
  'data directory: copy template',
  'data directory: rename into place',
  'postmaster: spawn',
  'master role: set verifier',
])('a delete in the middle of a create, right before “%s”, leaves nothing', async (effect) => {
  let service_id = ''
  const known = Promise.withResolvers<void>()
  const deleted = during(effect, async () => {
    await known.promise
    const answer = await howdah.call('DELETE', at(service_id))
    expect(answer.status).toBe(202)
    expect((await howdah.call('GET', at(service_id))).body.status).toBe('DELETING')
  })
  service_id = (await create()).body.service_id
  known.resolve()
  await deleted
  await howdah.untilStatus(service_id, 'removed')
  expect(orphansOf(howdah.config.data_dir, [])).toEqual([])
})

test('a stop in the middle of a start is refused, and the start is carried out', async () => {
  const { service_id } = await howdah.createService({ cpu_millis: 'shared' })
  await howdah.call('POST', at(service_id, '/stop'))
  await howdah.untilStatus(service_id, 'PAUSED')
  const refused = during('postmaster: spawn', async () => {
    const answer = await howdah.call('POST', at(service_id, '/stop'))
    expect(answer).toMatchObject({ status: 400, body: { code: 'WRONG_STATE' } })
    expect(answer.body.message).toContain('the service is RESUMING')
  })
  expect((await howdah.call('POST', at(service_id, '/start'))).status).toBe(202)
  await refused
  await howdah.untilStatus(service_id, 'READY')
  await remove(service_id)
})

test('stop and start in turn, as fast as they are accepted, end as the last accepted one says', async () => {
  const { service_id } = await howdah.createService({ cpu_millis: 'shared' })
  let last = 'start'
  for (let count = 0; count < 40; count += 1) {
    const verb = count % 2 === 0 ? 'stop' : 'start'
    if ((await howdah.call('POST', at(service_id, `/${verb}`))).status === 202) last = verb
  }
  await howdah.untilStatus(service_id, last === 'stop' ? 'PAUSED' : 'READY')
  await remove(service_id)
})

test('of ten resizes at once one is accepted, and it holds', async () => {
  const service = await howdah.createService({ cpu_millis: 'shared' })
  const answered = Promise.withResolvers<void>()
  const held = during('settings: write aside', () => answered.promise)
  const sizes = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? ['500', '2'] : ['1000', '4']))
  const answers = await Promise.all(
    sizes.map(([cpu_millis, memory_gbs]) =>
      howdah.call('POST', at(service.service_id, '/resize'), { cpu_millis, memory_gbs }),
    ),
  )
  answered.resolve()
  await held
  const accepted = answers.filter(({ status }) => status === 202)
  expect(accepted).toHaveLength(1)
  expect(answers.filter(({ body }) => body.code === 'WRONG_STATE')).toHaveLength(9)
  const spec = accepted[0]?.body.resources[0]?.spec
  const { body } = await howdah.untilStatus(service.service_id, 'READY')
  expect(body.resources[0]?.spec).toEqual(spec)
  expect(await ask(howdah.server.api_url, service, service.initial_password, 'show shared_buffers')).toEqual([
    spec?.memory_gbs === 2 ? '512MB' : '1GB',
  ])
  await remove(service.service_id)
})

test('renames at once with a delete change nothing about its end', async () => {
  const { service_id } = await howdah.createService({ cpu_millis: 'shared' })
  const renames = Array.from({ length: 10 }, (_, index) =>
    howdah.call('POST', at(service_id, '/rename'), { name: `name ${index}` }),
  )
  const [deleted, ...renamed] = await Promise.all([howdah.call('DELETE', at(service_id)), ...renames])
  expect(deleted.status).toBe(202)
  for (const { status } of renamed) expect([200, 400, 404]).toContain(status)
  await howdah.untilStatus(service_id, 'removed')
})

test('twenty creates at once all become READY, and after twenty deletes at once nothing is left', async () => {
  const made = await Promise.all(Array.from({ length: 20 }, create))
  expect(made.map(({ status }) => status)).toEqual(made.map(() => 202))
  const ids = made.map(({ body }) => body.service_id)
  expect(new Set(made.map(({ body }) => body.endpoint.port)).size).toBe(20)
  await Promise.all(ids.map((id) => howdah.untilStatus(id, 'READY')))
  expect(orphansOf(howdah.config.data_dir, ids)).toEqual([])

  const deletes = await Promise.all(ids.map((id) => howdah.call('DELETE', at(id))))
  expect(deletes.map(({ status }) => status)).toEqual(ids.map(() => 202))
  await Promise.all(ids.map((id) => howdah.untilStatus(id, 'removed')))
  expect((await howdah.call<Service[]>('GET', howdah.services)).body).toEqual([])
  expect(orphansOf(howdah.config.data_dir, [])).toEqual([])
})
