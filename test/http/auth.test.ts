// Who may do what: every endpoint against every kind of caller, compared with the table.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Static } from 'typebox'
import type { AuthInfo } from '#contract/auth.ts'
import { roleAllows, roles, type Role } from '#contract/endpoint.ts'
import { unknown_project } from '#contract/fault.ts'
import { listTokens, revokeToken } from '#server/identity/token.ts'
import { newCall, type ServiceOrFault } from '../call.ts'
import { startInstallation, type TestInstallation } from '../installation.ts'
import { until } from '../until.ts'
import { type Callers, openCallers, type TestToken } from './callers.ts'
import { pathOf, rows, valid_bodies } from './requests.ts'

let installation: TestInstallation
let callers: Callers
let tokens: Record<Role, TestToken>
let foreign: TestToken
let expired: TestToken
let revoked: TestToken

beforeAll(async () => {
  installation = await startInstallation()
  callers = await openCallers(installation)
  tokens = {
    viewer: await callers.newToken('viewer'),
    developer: await callers.newToken('developer'),
    admin: await callers.newToken('admin'),
    owner: await callers.newToken('owner'),
  }
  foreign = await callers.newToken('owner', { project_id: await callers.newProject() })
  expired = await callers.newToken('owner', { expires_at: new Date(Date.now() - 1000) })
  revoked = await callers.newToken('owner')
  expect(await revokeToken(callers.db, revoked.public_key)).toBe(true)
})

afterAll(async () => {
  await callers?.close()
  await installation?.stop()
})

function callWith(authorization: string | undefined) {
  const call = newCall(installation.server.api_url, undefined)
  return <Body = ServiceOrFault>(method: string, path: string, body?: unknown) =>
    call<Body>(method, path, body, authorization === undefined ? {} : { authorization })
}

describe.each(rows)('$name', (row) => {
  const { name, endpoint } = row
  const send = (authorization: string | undefined, project_id: string, body: unknown = valid_bodies[name]) =>
    callWith(authorization)(endpoint.method, pathOf(row, { project_id }), body)

  test('refuses everybody without a valid credential', async () => {
    const { public_key, secret_key } = tokens.owner
    const authorizations = [
      undefined,
      'Bearer',
      'Bearer x',
      `Bearer ${public_key}`,
      `Bearer ${public_key}.`,
      `Bearer .${secret_key}`,
      `Bearer ${public_key}.${secret_key}x`,
      `Bearer ${public_key}.${secret_key.slice(0, -1)}`,
      `Bearer ${public_key}.${revoked.secret_key}`,
      `Bearer ${public_key}${secret_key}`,
      `Token ${public_key}.${secret_key}`,
      `${public_key}.${secret_key}`,
      'Basic !!!',
      `Basic ${Buffer.from(`${public_key}:wrong`).toString('base64')}`,
      `Bearer ${expired.token}`,
      `Bearer ${revoked.token}`,
      `Bearer ${'x'.repeat(4000)}`,
    ]
    for (const authorization of authorizations) {
      const answer = await send(authorization, installation.project_id)
      expect(answer.status, authorization ?? 'no header').toBe(401)
      expect(answer.body.code).toBe('UNAUTHORIZED')
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
  })

  if (endpoint.path.includes('{project_id}')) {
    test('does not know the project of somebody else, nor one that never was', async () => {
      const attempts = [
        await send(`Bearer ${foreign.token}`, installation.project_id),
        await send(`Bearer ${tokens.owner.token}`, foreign.project_id),
        await send(`Bearer ${tokens.owner.token}`, 'neverwas00'),
        await send(`Bearer ${tokens.owner.token}`, 'NOT-AN-ID'),
        await send(`Bearer ${tokens.viewer.token}`, '%00'),
      ]
      for (const answer of attempts) {
        expect(answer.status).toBe(404)
        expect(answer.body).toEqual({ code: 'NOT_FOUND', message: unknown_project })
      }
    })
  }

  test.each(roles)('lets a %s do what the table says', async (role) => {
    // An empty body is refused after the role was checked, and an unknown service too: nothing is made here.
    const body = endpoint.body === undefined ? undefined : {}
    const answer = await send(`Bearer ${tokens[role].token}`, installation.project_id, body)
    const { access } = endpoint
    const allowed = access === 'public' || access === 'caller' || roleAllows(role, access)
    if (allowed) expect([200, 400, 404]).toContain(answer.status)
    else expect([answer.status, answer.body.code]).toEqual([403, 'FORBIDDEN'])
  })
})

describe('a token', () => {
  test('is accepted in every form that clients use', async () => {
    const { public_key, secret_key } = tokens.viewer
    const basic = Buffer.from(`${public_key}:${secret_key}`).toString('base64')
    for (const authorization of [
      `Bearer ${public_key}.${secret_key}`,
      `Bearer ${public_key}:${secret_key}`,
      `bearer ${public_key}.${secret_key}`,
      `Basic ${basic}`,
    ]) {
      const answer = await callWith(authorization)<Static<typeof AuthInfo>>('GET', '/auth/info')
      expect(answer.status, authorization.split(' ')[0]).toBe(200)
      expect(answer.body.apiKey?.public_key).toBe(public_key)
    }
  })

  test('says who its caller is, in both spellings', async () => {
    const { body } = await callWith(`Bearer ${tokens.developer.token}`)<Static<typeof AuthInfo>>('GET', '/auth/info')
    expect(body).toEqual({
      type: 'apiKey',
      api_key: body.apiKey,
      apiKey: {
        created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/),
        issuing_user: {
          id: String(tokens.developer.user_id),
          email: expect.stringContaining('@example.com'),
          name: 'a developer',
        },
        name: 'token of a developer',
        project: { id: installation.project_id, name: 'default', plan_type: 'SELF_HOSTED' },
        public_key: tokens.developer.public_key,
      },
    })
  })

  test('sees the one project that it belongs to', async () => {
    const { body } = await callWith(`Bearer ${foreign.token}`)('GET', '/projects')
    expect(body).toEqual([{ id: foreign.project_id, name: 'another project' }])
  })

  test('stops working when it is revoked, when it expires and when its issuer leaves the project', async () => {
    const short_lived = await callers.newToken('viewer', { expires_at: new Date(Date.now() + 1500) })
    const withdrawn = await callers.newToken('viewer')
    const left = await callers.newToken('viewer')
    expect((await callWith(`Bearer ${withdrawn.token}`)('GET', '/projects')).status).toBe(200)
    expect((await callWith(`Bearer ${left.token}`)('GET', '/projects')).status).toBe(200)
    await revokeToken(callers.db, withdrawn.public_key)
    await callers.db.query('delete from members where user_id = $1', [left.user_id])
    for (const { token } of [short_lived, withdrawn, left]) {
      await until(async () => (await callWith(`Bearer ${token}`)('GET', '/projects')).status === 401)
    }
    expect(await revokeToken(callers.db, withdrawn.public_key)).toBe(false)
  })

  test('follows its issuer to another role', async () => {
    const { token, user_id } = await callers.newToken('viewer')
    const create = () => callWith(`Bearer ${token}`)('POST', installation.services, {})
    expect((await create()).status).toBe(403)
    await callers.db.query(`update members set role = 'developer' where user_id = $1`, [user_id])
    await until(async () => (await create()).status === 400)
  })

  test('leaves a note of its use, and no secret, in the store', async () => {
    const fresh = await callers.newToken('viewer')
    expect((await callWith(`Bearer ${fresh.token}`)('GET', '/projects')).status).toBe(200)
    await until(async () => {
      const listed = await listTokens(callers.db, installation.project_id)
      return listed.find(({ public_key }) => public_key === fresh.public_key)?.last_used_at
    })
    const stored = await callers.db.query('select t::text as row from tokens t')
    expect(JSON.stringify(stored)).not.toContain(fresh.secret_key)
  })
})
