// Rate limits through the front door, with limits so low that any machine meets them: who is refused, how, and who is
// not. Behind a trusted proxy the proxy names the address.
import { expect, test } from 'vitest'
import type { AuditEntry } from '#contract/audit.ts'
import { type Answer, newCall, type ServiceOrFault } from '../call.ts'
import { shared } from '../shared.ts'
import { startInRegion } from './region.ts'
import { until } from '../until.ts'
import { openCallers } from './callers.ts'

/** A caller: 2 a second and 10 at once. An address: ten times that. A stranger: 0.2 a second and 2 at once. */
const config = { rate_limit: 2, trusted_proxies: ['127.0.0.1'] }
const installation = shared(() => startInRegion({ config }))
const callers = shared(() => openCallers(installation))

/** Asks, ten at once, until one is refused for being too many. */
async function untilRefused(token: string | undefined, headers: Record<string, string>) {
  const call = newCall(installation.server.api_url, token)
  return until(async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => call('GET', '/projects', undefined, headers)))
    return answers.find(({ status }) => status === 429)
  })
}

function expectRefusal(answer: Answer<ServiceOrFault>) {
  expect(answer.body).toEqual({ code: 'RATE_LIMITED', message: expect.stringContaining('too many requests') })
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  expect(answer.headers.get('x-request-id')).toBeTruthy()
}

test('a caller who asks too often is told when to come back; others are served', async () => {
  const eager = await callers.newToken('viewer')
  const calm = await callers.newToken('viewer')
  expectRefusal(await untilRefused(eager.token, { 'x-forwarded-for': '192.0.2.1' }))
  const headers = { 'x-forwarded-for': '192.0.2.2' }
  const answer = await newCall(installation.server.api_url, calm.token)('GET', '/projects', undefined, headers)
  expect(answer.status).toBe(200)
  // With the time that the refusal named, they are served again.
  await until(async () => {
    const again = await newCall(installation.server.api_url, eager.token)('GET', '/projects', undefined, headers)
    return again.status === 200
  })
})

test('strangers are soon refused, and lock out no caller with a credential at their address', async () => {
  const headers = { 'x-forwarded-for': '192.0.2.3' }
  expectRefusal(await untilRefused('NOSUCHKEY0.'.padEnd(60, 'x'), headers))
  const { token } = await callers.newToken('viewer')
  const call = newCall(installation.server.api_url, token)
  expect((await call('GET', '/projects', undefined, headers)).status).toBe(200)
  const elsewhere = await newCall(installation.server.api_url, undefined)('GET', '/projects', undefined, {
    'x-forwarded-for': '192.0.2.4',
  })
  expect(elsewhere.status).toBe(401)
})

test('an address that sends too much is refused everything but the server’s health', async () => {
  const headers = { 'x-forwarded-for': '192.0.2.5' }
  const ask = (path: string) => fetch(installation.server.url + path, { headers })
  const refused = await until(async () => {
    // Small ones: a busy machine must answer more of them than the limit lets through.
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask('/public/api/v1/ca.pem')))
    return answers.find(({ status }) => status === 429)
  })
  expect(await refused.json()).toMatchObject({ code: 'RATE_LIMITED' })
  for (let times = 0; times < 200; times += 1) expect((await ask('/healthz')).status).toBe(200)
})

test('the audit log has the address behind a trusted proxy', async () => {
  const { token, project_id } = await callers.newToken('owner')
  const call = newCall(installation.server.api_url, token)
  const rename = (forwarded: string) =>
    call('POST', `/projects/${project_id}/rename`, { name: 'x' }, { 'x-forwarded-for': forwarded })
  // What stands before the last untrusted address was written by the caller: anything.
  expect((await rename('203.0.113.9, 192.0.2.6')).status).toBe(200)
  expect((await rename('not an address')).status).toBe(200)
  const { body } = await call<{ entries: AuditEntry[] }>('GET', `/projects/${project_id}/audit`)
  expect(body.entries.map(({ address }) => address)).toEqual(['127.0.0.1', '192.0.2.6'])
})
