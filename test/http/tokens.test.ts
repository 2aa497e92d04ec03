// Personal access tokens: what they say, how they are made, and how they end; on one server and on two.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Static } from 'typebox'
import type { AuthInfo } from '#contract/auth.ts'
import type { Role } from '#contract/endpoint.ts'
import type { FaultBody } from '#contract/fault.ts'
import type { Token } from '#contract/token.ts'
import { listTokens, removeToken } from '#server/identity/store.ts'
import { newLog } from '#server/log.ts'
import { type Server, startServer } from '#server/main.ts'
import { shared } from '#test/shared.ts'
import { type Call, newCall, type ServiceOrFault } from '../call.ts'
import { startInRegion } from './region.ts'
import { until } from '../until.ts'
import { openCallers, type TestToken, userCredential, userVerifier } from './callers.ts'

type Made = Token & { secret_key: string } & FaultBody

const installation = shared(() => startInRegion({ verifiers: [userVerifier] }))
const callers = shared(() => openCallers(installation))
let tokens: Record<Role, TestToken>
let foreign: TestToken
let all: string

beforeAll(async () => {
  tokens = {
    viewer: await callers.newToken('viewer'),
    developer: await callers.newToken('developer'),
    admin: await callers.newToken('admin'),
    owner: await callers.newToken('owner'),
  }
  foreign = await callers.newToken('owner', { project_id: await callers.newProject() })
  all = `/projects/${installation.project_id}/tokens`
})

function callWith(authorization: string | undefined) {
  const call = newCall(installation.server.api_url, undefined)
  return <Body = ServiceOrFault>(method: string, path: string, body?: unknown) =>
    call<Body>(method, path, body, authorization === undefined ? {} : { authorization })
}

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
    expect(body).toMatchObject([{ id: foreign.project_id, name: 'another project' }])
  })

  test('stops working when it is revoked, when it expires and when its issuer leaves the project', async () => {
    const short_lived = await callers.newToken('viewer', { expires_at: new Date(Date.now() + 1500) })
    const withdrawn = await callers.newToken('viewer')
    const left = await callers.newToken('viewer')
    expect((await callWith(`Bearer ${withdrawn.token}`)('GET', '/projects')).status).toBe(200)
    expect((await callWith(`Bearer ${left.token}`)('GET', '/projects')).status).toBe(200)
    await removeToken(callers.db, withdrawn.public_key)
    await callers.db.query('delete from members where user_id = $1', [left.user_id])
    for (const { token } of [short_lived, withdrawn, left]) {
      await until(async () => (await callWith(`Bearer ${token}`)('GET', '/projects')).status === 401)
    }
    expect(await removeToken(callers.db, withdrawn.public_key)).toBeUndefined()
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

describe('making a token', () => {
  const create = (call: Call, body: object) => call<Made>('POST', all, body)
  const callOf = ({ public_key, secret_key }: Made) => callers.callWith(`${public_key}.${secret_key}`)
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()

  test('the secret is in the answer and nowhere after it', async () => {
    const { token, user_id, email } = tokens.admin
    const made = await create(callers.callWith(token), { name: ' for a robot ', expires_at: inDays(30) })
    expect(made.status).toBe(201)
    const { secret_key, ...shown } = made.body
    expect(secret_key).toMatch(/^[\w-]{40}$/)
    expect(shown).toEqual({
      public_key: expect.stringMatching(/^[A-Z2-9]{16}$/),
      name: 'for a robot',
      role: 'admin',
      issuing_user: { id: String(user_id), email, name: 'a admin' },
      created: expect.stringMatching(/Z$/),
      expires_at: expect.stringMatching(/Z$/),
    })
    const listed = await callers.callWith(token)<Token[]>('GET', all)
    expect(listed.body).toContainEqual(shown)
    expect(JSON.stringify(listed.body)).not.toContain(secret_key)
    expect((await callOf(made.body)('GET', all)).status).toBe(200)
    await until(async () => {
      const again = await callers.callWith(token)<Token[]>('GET', all)
      return again.body.find(({ public_key }) => public_key === shown.public_key)?.last_used_at
    })
  })

  test('a person who has logged in makes one for themselves', async () => {
    const made = await create(callers.callWith(userCredential(tokens.admin)), { name: 'mine', role: 'viewer' })
    expect(made.body).toMatchObject({ role: 'viewer', issuing_user: { id: String(tokens.admin.user_id) } })
    expect((await callOf(made.body)('POST', installation.services, {})).status).toBe(403)
  })

  test('it carries at most the role of who makes it, also through another token', async () => {
    const admin = callers.callWith(tokens.admin.token)
    const refused = await create(admin, { name: 'too much', role: 'owner' })
    expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN'])
    const limited = await callers.newToken('owner', { token_role: 'admin', expires_at: new Date(inDays(2)) })
    const child = await create(callers.callWith(limited.token), { name: 'child' })
    expect(child.body).toMatchObject({ role: 'admin', issuing_user: { id: String(limited.user_id) } })
    expect((await callOf(child.body)('DELETE', `/projects/${installation.project_id}`)).status).toBe(403)
    expect((await create(callers.callWith(limited.token), { name: 'child', role: 'owner' })).status).toBe(403)
    // Nor does it live longer than the token that made it.
    expect(new Date(child.body.expires_at ?? 0) < new Date(inDays(2))).toBe(true)
    const longer = await create(callers.callWith(limited.token), { name: 'child', expires_at: inDays(3) })
    expect([longer.status, longer.body.code]).toEqual([400, 'INVALID_REQUEST'])
  })

  test('its end lies in the future, and not for ever in it', async () => {
    const admin = callers.callWith(tokens.admin.token)
    for (const expires_at of [inDays(-1), '2016-12-31T23:59:60Z', inDays(3651), '9999-12-31T00:00:00Z']) {
      const refused = await create(admin, { name: 'x', expires_at })
      expect([refused.status, refused.body.details], expires_at).toEqual([400, expect.stringContaining('/expires_at')])
    }
    expect((await create(admin, { name: 'x', expires_at: inDays(3649) })).status).toBe(201)
  })
})

describe('revoking a token', () => {
  let second: Server

  beforeAll(async () => {
    second = await startServer(installation.config, { log: newLog('silent') })
  })

  afterAll(async () => {
    await second?.close()
  })

  test('ends it at once where it is revoked and soon on every other server, in the middle of its use', async () => {
    const admin = callers.callWith(tokens.admin.token)
    const victim = await callers.newToken('developer')
    const here = newCall(installation.server.api_url, victim.token)
    const there = newCall(second.api_url, victim.token)
    let revoked = false
    const use = async (call: Call, seen: [begun_after_end: boolean, status: number][]) => {
      for (;;) {
        const begun_after_end = revoked
        const { status } = await call('GET', '/projects')
        seen.push([begun_after_end, status])
        if (status === 401) return
      }
    }
    const seen_here: [boolean, number][] = []
    const seen_there: [boolean, number][] = []
    const users = [here, here, here].map((call) => use(call, seen_here))
    const others = [there, there].map((call) => use(call, seen_there))
    await until(() => seen_here.length > 20 && seen_there.length > 20)
    expect((await admin('DELETE', `${all}/${victim.public_key}`)).status).toBe(204)
    revoked = true
    await Promise.all([...users, ...others])
    expect(seen_here.filter(([begun_after_end, status]) => begun_after_end && status === 200)).toEqual([])
    expect(new Set([...seen_here, ...seen_there].map(([, status]) => status))).toEqual(new Set([200, 401]))
    expect((await admin('DELETE', `${all}/${victim.public_key}`)).status).toBe(404)
  })

  test('leaves it no moment to make another one, even where it is still believed', async () => {
    const victim = await callers.newToken('admin')
    const there = newCall(second.api_url, victim.token)
    expect((await there('GET', '/projects')).status).toBe(200)
    expect((await callers.callWith(tokens.admin.token)('DELETE', `${all}/${victim.public_key}`)).status).toBe(204)
    expect((await there('POST', all, { name: 'another' })).status).toBe(401)
    expect((await there('POST', `/projects/${installation.project_id}/members`, tokens.viewer)).status).not.toBe(201)
  })

  test('is for the admins of its own project', async () => {
    for (const key of [foreign.public_key, 'NOSUCHKEY0', 'x', tokens.viewer.token]) {
      expect((await callers.callWith(tokens.admin.token)('DELETE', `${all}/${key}`)).status).toBe(404)
    }
    expect((await callers.callWith(foreign.token)('GET', '/projects')).status).toBe(200)
    expect((await callers.callWith(tokens.viewer.token)('GET', '/projects')).status).toBe(200)
  })
})
