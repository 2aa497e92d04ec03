// Every error code that exists, provoked through the front door: its status, its shape, its headers.
import { beforeAll, describe, expect, test } from 'vitest'
import { fault_status, type FaultCode } from '#contract/fault.ts'
import { services_per_project_max } from '#server/service/rules.ts'
import { shared } from '#test/shared.ts'
import { type Answer, newCall, type ServiceOrFault } from '../call.ts'
import { stopStoreOf } from '../database.ts'
import { startInRegion } from './region.ts'
import { until } from '../until.ts'
import { openCallers } from './callers.ts'

const installation = shared(startInRegion)
const callers = shared(() => openCallers(installation))
let at: string

beforeAll(async () => {
  const { service_id } = await installation.createService()
  at = `${installation.services}/${service_id}`
})

type Provoked = () => Promise<Answer<ServiceOrFault>>

const provoke: { [Code in Exclude<FaultCode, 'UNAVAILABLE'>]: Provoked | 'in its own test' } = {
  INVALID_REQUEST: () => installation.call('POST', installation.services, { name: 7 }),
  WRONG_STATE: () => installation.call('POST', `${at}/start`),
  UNAUTHORIZED: () => installation.call('GET', '/projects', undefined, { authorization: '' }),
  FORBIDDEN: async () => {
    const { token } = await callers.newToken('viewer')
    return newCall(installation.server.api_url, token)('DELETE', at)
  },
  QUOTA_EXCEEDED: async () => {
    const project_id = await callers.newProject()
    const { token } = await callers.newToken('developer', { project_id })
    await fillProject(project_id)
    return newCall(installation.server.api_url, token)('POST', `/projects/${project_id}/services`, { name: 'too many' })
  },
  NOT_FOUND: () => installation.call('GET', `${installation.services}/nosuchid00`),
  METHOD_NOT_ALLOWED: () => installation.call('PUT', at, {}),
  CONFLICT: async () => {
    const key = { 'idempotency-key': 'the-same-key' }
    const made = await installation.call('POST', installation.services, { name: 'first' }, key)
    expect(made.status).toBe(202)
    return installation.call('POST', installation.services, { name: 'second' }, key)
  },
  PAYLOAD_TOO_LARGE: () => installation.call('POST', `${at}/rename`, { name: 'x'.repeat(1024 * 1024) }),
  UNSUPPORTED_MEDIA_TYPE: () =>
    installation.call('POST', `${at}/rename`, 'name=x', { 'content-type': 'application/x-www-form-urlencoded' }),
  RATE_LIMITED: 'in its own test',
  INTERNAL: async () => {
    // Nothing that a caller sends may do this, so the store is broken on purpose.
    await callers.db.query('alter table service_events rename column message to mislaid')
    try {
      return await installation.call('GET', `${at}/events`)
    } finally {
      await callers.db.query('alter table service_events rename column mislaid to message')
    }
  },
}

const in_use = Object.entries(provoke).flatMap(([code, provoked]) =>
  provoked === 'in its own test' ? [] : [{ code, provoked }],
)

describe.each(in_use)('$code', ({ code, provoked }) => {
  test('comes with its status and in the one shape', async () => {
    const answer = await provoked()
    expect(answer.body).toMatchObject({ code })
    // The rows of the table above are named after the codes.
    expect(answer.status).toBe(fault_status[code as FaultCode])
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expect(answer.headers.get('x-request-id')).toBeTruthy()
    const { message, details, ...rest } = answer.body
    expect(Object.keys(rest)).toEqual(['code'])
    expect(message.length).toBeGreaterThan(10)
    if (details !== undefined) expect(typeof details).toBe('string')
  })
})

test('a refused method names those that are accepted', async () => {
  const on_service = await installation.call('PATCH', at)
  expect(on_service.headers.get('allow')).toBe('GET, HEAD, DELETE')
  const on_list = await installation.call('DELETE', installation.services)
  expect(on_list.headers.get('allow')).toBe('GET, HEAD, POST')
  const on_action = await installation.call('GET', `${at}/stop`)
  expect(on_action.headers.get('allow')).toBe('POST')
})

test('our own mistake is told by a fixed sentence and the request id, never by its cause', async () => {
  const internal = provoke.INTERNAL
  if (internal === 'in its own test') throw new Error('INTERNAL is in use')
  const { body, headers } = await internal()
  expect(body.message).toBe(
    `the server failed to answer this request; report it with the request id ${headers.get('x-request-id')}`,
  )
  expect(JSON.stringify(body)).not.toMatch(/select|column|service_events|node_modules| at /)
})

test('a body of 1 MB gets its answer, whatever its sender may do', async () => {
  const big = JSON.stringify({ name: 'x'.repeat(1024 * 1024) })
  const answers = [
    await installation.call('POST', installation.services, big),
    await installation.call('POST', `${at}/stop`, big),
    await installation.call('POST', installation.services, big, { authorization: '' }),
    await installation.call('POST', `${installation.services}x`, big),
  ]
  expect(answers.map((answer) => answer.status)).toEqual([413, 413, 401, 404])
})

test('every invalid field is told at once, each with its path and what it may be', async () => {
  const body = { addons: ['x', 'ai'], cpu_millis: 1.5, environment_tag: 'TEST', replica_count: 1.5, region_code: null }
  const answer = await installation.call('POST', installation.services, body)
  expect(answer.body.details?.split('\n').toSorted()).toEqual([
    '/addons/0: must be one of time-series, ai',
    '/cpu_millis: must be an integer or a string',
    '/environment_tag: must be one of DEV, PROD',
    '/name: is required',
    '/region_code: must be a string',
    '/replica_count: must be an integer',
  ])
})

test('a store that is away is UNAVAILABLE with Retry-After, and the server recovers with it', async () => {
  const answer = await until(async () => {
    await stopStoreOf(installation)
    const answer = await installation.call('GET', at)
    return answer.status === 503 && answer
  })
  expect(answer.body.code).toBe('UNAVAILABLE')
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  expect((await fetch(`${installation.server.url}/healthz`)).status).toBe(200)
  await until(async () => (await installation.call('GET', at)).status === 200)
  await until(async () => (await fetch(`${installation.server.url}/readyz`)).status === 200)
})

/** As many services as a project may have, in a region that no server runs: rows that only count. */
async function fillProject(project_id: string): Promise<void> {
  await callers.db.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment,
                           password_verifier)
     select 'full' || lpad(n::text, 6, '0'), $1, 'full', 'elsewhere', 'POSTGRES', 'DEV', ''
     from generate_series(1, $2::integer) n`,
    [project_id, services_per_project_max],
  )
}
