// What the log says of requests: one line each, enough to find it again, and nothing that was sent.
import { beforeAll, expect, test } from 'vitest'
import { newLog } from '#server/log.ts'
import { shared } from '#test/shared.ts'
import type { Call } from '../call.ts'
import { until } from '../until.ts'
import { startInRegion } from './region.ts'

const lines: string[] = []
const howdah = shared(() => startInRegion({ log: newLog('info', { write: (line: string) => void lines.push(line) }) }))
let call: Call

beforeAll(async () => {
  call = howdah.call
})

function linesOf(request_id: string): Record<string, unknown>[] {
  return lines
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter((line) => line['request_id'] === request_id)
}

test('a request leaves one line that says who did what, how it ended and how long it took', async () => {
  const sent: [string, string, number, string | undefined][] = [
    ['GET', '/projects', 200, '/public/api/v1/projects'],
    [
      'GET',
      `/projects/${howdah.project_id}/services/nosuchid00`,
      404,
      '/public/api/v1/projects/:project_id/services/:service_id',
    ],
    ['GET', '/nothing?secret=in-a-query', 404, undefined],
  ]
  for (const [index, [method, path, status, route]] of sent.entries()) {
    const request_id = `line-${index}`
    await call(method, path, undefined, { 'x-request-id': request_id })
    await until(() => linesOf(request_id).length > 0)
    expect(linesOf(request_id)).toEqual([
      expect.objectContaining({
        level: 'info',
        msg: 'request',
        method,
        status,
        took_ms: expect.any(Number),
        public_key: howdah.token.split('.')[0],
        ...(route === undefined ? {} : { route }),
      }),
    ])
  }
  expect(lines.join('')).not.toContain('in-a-query')
})

test('no credential, body or header is in any line', async () => {
  const secret = 'a-very-secret-text'
  const services = `/projects/${howdah.project_id}/services`
  const headers = { 'x-request-id': 'secrets', 'idempotency-key': `${secret}-key`, cookie: `session=${secret}` }
  await call('POST', services, { name: 1, password: secret, [secret]: secret }, headers)
  await call('POST', `${services}/nosuchid00/updatePassword`, { password: `${secret}-word` }, headers)
  await call('POST', services, `{"name":"${secret}`, headers)
  await call('GET', '/projects', undefined, { ...headers, authorization: `Bearer ${secret}.${secret}` })
  await until(() => linesOf('secrets').length === 4)
  expect(lines.join('')).not.toContain(secret)
  expect(lines.join('')).not.toContain(howdah.token.split('.')[1])
})
