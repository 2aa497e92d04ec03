// Read replica sets as requests see them: what is answered, what is refused, and with which words.
import { describe, expect, test } from 'vitest'
import type { ReadReplicaSet } from '#contract/replica-set.ts'
import { newCall } from '#test/call.ts'
import { shared } from '#test/shared.ts'
import { startInRegion } from './region.ts'
import { openCallers } from './callers.ts'
import { openReadyRows } from './ready-services.ts'
import { pathOf, rows as all_endpoints, valid_bodies } from './requests.ts'

const howdah = shared(startInRegion)
const callers = shared(() => openCallers(howdah))
const rows = shared(() => openReadyRows(howdah))

const small = { cpu_millis: 500, memory_gbs: 2 }
const sets = (service_id: string) => `${howdah.services}/${service_id}/replicaSets`

/** The verbs of one set, with a body that fits. */
const verbs: [method: string, verb: string, body: unknown][] = [
  ['DELETE', '', undefined],
  ['POST', '/resize', small],
  ['POST', '/enablePooler', undefined],
  ['POST', '/disablePooler', undefined],
  ['POST', '/setEnvironment', { environment: 'PROD' }],
]

test('an empty list is an empty list', async () => {
  expect(await howdah.call('GET', sets(await rows.newService()))).toMatchObject({ status: 200, body: [] })
})

test.each([
  ['creating', 'settled_generation = 0'],
  ['active', 'settled_generation = 1'],
  ['resizing', 'generation = 2, shape_generation = 2'],
  ['active', 'generation = 2'],
  ['active', `failing_since = now() - interval '1 minute'`],
  ['error', `failing_since = now() - interval '3 minutes'`],
  ['deleting', 'deleted_at = now()'],
])('a set is %s when %s', async (status, columns) => {
  const service_id = await rows.newService()
  const id = await rows.newSet(service_id, columns)
  const { body } = await howdah.call<ReadReplicaSet[]>('GET', sets(service_id))
  const metadata = { environment: 'DEV' }
  expect(body).toMatchObject([{ id, name: 'readers', nodes: 2, ...small, metadata, status }])
  expect((await howdah.call('GET', `${howdah.services}/${service_id}`)).body.read_replica_sets).toEqual(body)
})

test('a service that has as many sets as it may refuses one more', async () => {
  const service_id = await rows.newService(`region_code = 'local'`)
  for (let count = 0; count < 4; count += 1) await rows.newSet(service_id)
  const answer = await howdah.call('POST', sets(service_id), { name: 'fifth', nodes: 1, ...small })
  const message = 'a service has at most 4 replica sets; delete one, or create one with more nodes'
  expect(answer).toMatchObject({ status: 403, body: { code: 'QUOTA_EXCEEDED', message } })
})

test('of many that are created at once, as many are made as there is room for, each at a port of its own', async () => {
  const service_id = await rows.newService(`region_code = 'local'`)
  const create = () => howdah.call('POST', sets(service_id), { name: 'one of many', nodes: 1, ...small })
  const statuses = (await Promise.all(Array.from({ length: 8 }, create))).map(({ status }) => status)
  expect(statuses.toSorted((a, b) => a - b)).toEqual([202, 202, 202, 202, 403, 403, 403, 403])
  const { body } = await howdah.call<ReadReplicaSet[]>('GET', sets(service_id))
  expect(new Set(body.map(({ endpoint }) => endpoint.port)).size).toBe(4)
})

describe('one set', () => {
  test('is deleted, and deleted again, with 202', async () => {
    const service_id = await rows.newService()
    const at = `${sets(service_id)}/${await rows.newSet(service_id)}`
    expect((await howdah.call('DELETE', at)).status).toBe(202)
    expect((await howdah.call<ReadReplicaSet[]>('GET', sets(service_id))).body).toMatchObject([{ status: 'deleting' }])
    expect((await howdah.call('DELETE', at)).status).toBe(202)
  })

  test('is resized with a message, and is resizing then', async () => {
    const service_id = await rows.newService()
    const at = `${sets(service_id)}/${await rows.newSet(service_id)}`
    const answer = await howdah.call('POST', `${at}/resize`, { cpu_millis: '1000', memory_gbs: '4' })
    const message = 'the replica set is being resized to 1000 milli-cores and 4 GB a node'
    expect(answer).toMatchObject({ status: 202, body: { message } })
    expect((await howdah.call<ReadReplicaSet[]>('GET', sets(service_id))).body).toMatchObject([
      { status: 'resizing', cpu_millis: 1000, memory_gbs: 4 },
    ])
  })

  test('is not resized to what is no size', async () => {
    const service_id = await rows.newService()
    const at = `${sets(service_id)}/${await rows.newSet(service_id)}`
    const answer = await howdah.call('POST', `${at}/resize`, { cpu_millis: 'shared', memory_gbs: 'shared' })
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
  })

  test('gets its environment, and its status stays', async () => {
    const service_id = await rows.newService()
    const at = `${sets(service_id)}/${await rows.newSet(service_id)}`
    const answer = await howdah.call('POST', `${at}/setEnvironment`, { environment: 'PROD' })
    expect(answer).toMatchObject({ status: 200, body: { message: 'the environment is PROD' } })
    expect((await howdah.call<ReadReplicaSet[]>('GET', sets(service_id))).body).toMatchObject([
      { status: 'active', metadata: { environment: 'PROD' } },
    ])
  })

  test('has its pooler once', async () => {
    const service_id = await rows.newService()
    const pooled = await rows.newSet(service_id, 'pooler = true')
    const enabled = { code: 'CONFLICT', message: 'the pooler of the replica set is already enabled' }
    expect(await howdah.call('POST', `${sets(service_id)}/${pooled}/enablePooler`)).toMatchObject({
      status: 409,
      body: enabled,
    })
    const plain = await rows.newSet(service_id)
    const disabled = { code: 'CONFLICT', message: 'the pooler of the replica set is already disabled' }
    expect(await howdah.call('POST', `${sets(service_id)}/${plain}/disablePooler`)).toMatchObject({
      status: 409,
      body: disabled,
    })
  })

  test.each(verbs)('%s %s of an unknown set, or of another service’s, is 404', async (method, verb, body) => {
    const service_id = await rows.newService()
    const anothers = await rows.newSet(await rows.newService())
    for (const id of ['nosuchid00', anothers, 'NO-ID']) {
      const answer = await howdah.call(method, `${sets(service_id)}/${id}${verb}`, body)
      expect(answer).toMatchObject({ status: 404, body: { message: 'no replica set with that id exists' } })
    }
    const without = await howdah.call(method, `${sets('nosuchid00')}/${anothers}${verb}`, body)
    expect(without).toMatchObject({ status: 404, body: { message: 'no service with that id exists' } })
  })

  test.each(verbs)('%s %s is for sets of a service that is READY', async (method, verb, body) => {
    const service_id = await rows.newService(`state = 'not_serving'`)
    const id = await rows.newSet(service_id)
    const answer = await howdah.call(method, `${sets(service_id)}/${id}${verb}`, body)
    if (verb === '/setEnvironment') expect(answer.status).toBe(200)
    else expect(answer).toMatchObject({ status: 400, body: { code: 'WRONG_STATE' } })
    if (verb !== '/setEnvironment') expect(answer.body.message).toContain('the service is UNSTABLE')
  })

  test.each([
    ['settled_generation = 0', 'the replica set is creating', ['/resize', '/enablePooler', '/disablePooler']],
    ['deleted_at = now()', 'the replica set is deleting', ['/resize', '/enablePooler', '/setEnvironment']],
    [`failing_since = '-infinity'`, 'the replica set is error', ['/enablePooler', '/disablePooler']],
  ])('with %s refuses what does not fit', async (columns, words, refused) => {
    const service_id = await rows.newService()
    const id = await rows.newSet(service_id, columns)
    for (const [method, verb, body] of verbs.filter(([, verb]) => refused.includes(verb))) {
      const answer = await howdah.call(method, `${sets(service_id)}/${id}${verb}`, body)
      expect(answer).toMatchObject({ status: 400, body: { code: 'WRONG_STATE' } })
      expect(answer.body.message).toContain(words)
    }
  })
})

describe('a set at the place of a service', () => {
  test('is read like one: a standby of its service', async () => {
    const service_id = await rows.newService()
    const id = await rows.newSet(service_id, `pooler = true`)
    const [set] = (await howdah.call<ReadReplicaSet[]>('GET', sets(service_id))).body
    expect(await howdah.call('GET', `${howdah.services}/${id}`)).toMatchObject({
      status: 200,
      body: {
        service_id: id,
        project_id: howdah.project_id,
        name: 'readers',
        region_code: 'elsewhere',
        status: 'READY',
        endpoint: set?.endpoint,
        connection_pooler: set?.connection_pooler,
        forked_from: { is_standby: true, project_id: howdah.project_id, service_id },
        read_replica_sets: [],
        // Two nodes, each with those of its size.
        resources: [{ id, spec: { ...small, max_connections: 200 } }],
      },
    })
  })

  test.each([
    ['CONFIGURING', '', 'settled_generation = 0'],
    ['UNSTABLE', '', `state = 'not_serving'`],
    ['UNSTABLE', '', `failing_since = now() - interval '3 minutes'`],
    ['DELETING', '', 'deleted_at = now()'],
    ['DELETING', 'deleted_at = now()', 'pooler = false'],
    ['PAUSED', `power = 'off', state = 'stopped'`, `state = 'stopped'`],
  ])('is %s with its service %j and itself %j', async (status, of_service, of_set) => {
    const service_id = await rows.newService(of_service || 'pooler = false')
    const id = await rows.newSet(service_id, of_set)
    expect((await howdah.call('GET', `${howdah.services}/${id}`)).body.status).toBe(status)
  })

  const under_service = all_endpoints.filter(
    ({ name, endpoint }) => endpoint.path.includes('/services/{service_id}') && name !== 'getService',
  )

  test.each(under_service)('is no service for $name: the answer names its service', async (row) => {
    const service_id = await rows.newService()
    const id = await rows.newSet(service_id)
    const path = pathOf(row, { ...howdah, service_id: id })
    const answer = await howdah.call(row.endpoint.method, path, valid_bodies[row.name])
    const place = `/projects/${howdah.project_id}/services/${service_id}/replicaSets/${id}`
    const message = `${id} is a read replica set of the service ${service_id}; use ${place}`
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST', message } })
    const unchanged = await howdah.call<ReadReplicaSet[]>('GET', sets(service_id))
    expect(unchanged.body).toMatchObject([{ id, status: 'active' }])
  })

  test('does not exist for another project', async () => {
    const id = await rows.newSet(await rows.newService())
    const { token, project_id } = await callers.newToken('owner', { project_id: await callers.newProject() })
    const call = newCall(howdah.server.api_url, token)
    const body = { code: 'NOT_FOUND', message: 'no service with that id exists' }
    expect(await call('GET', `/projects/${project_id}/services/${id}`)).toMatchObject({ status: 404, body })
    expect(await call('POST', `/projects/${project_id}/services/${id}/stop`)).toMatchObject({ status: 404, body })
  })
})
