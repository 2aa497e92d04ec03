// Members: added, invited, promoted, demoted, removed; none above the caller's own role, and never without an owner.
import { beforeAll, describe, expect, test } from 'vitest'
import type { FaultBody } from '#contract/fault.ts'
import type { Member } from '#contract/member.ts'
import { shared } from '#test/shared.ts'
import type { Call } from '../call.ts'
import { startInRegion } from './region.ts'
import { until } from '../until.ts'
import { openCallers, type TestToken, userCredential, userVerifier } from './callers.ts'

type Answer = Member & FaultBody

const installation = shared(() => startInRegion({ verifiers: [userVerifier] }))
const callers = shared(() => openCallers(installation))
let members: string
let admin: Call
let owner: Call

beforeAll(async () => {
  members = `/projects/${installation.project_id}/members`
  admin = callers.callWith((await callers.newToken('admin')).token)
  owner = installation.call
})

const setRole = (call: Call, member: TestToken, role: string) =>
  call<Answer>('POST', `${members}/${member.user_id}/setRole`, { role })

const remove = (call: Call, member: TestToken) => call<Answer>('DELETE', `${members}/${member.user_id}`)

describe('adding', () => {
  test('a known e-mail adds that user, whatever its case', async () => {
    const elsewhere = await callers.newToken('owner', { project_id: await callers.newProject() })
    const body = { email: elsewhere.email.toUpperCase(), role: 'developer' }
    const added = await admin<Answer>('POST', members, body)
    expect([added.status, added.body]).toEqual([
      201,
      {
        user_id: String(elsewhere.user_id),
        email: elsewhere.email,
        name: 'a owner',
        role: 'developer',
        created: expect.stringMatching(/Z$/),
        joined: true,
      },
    ])
    const listed = await admin<Member[]>('GET', members)
    expect(listed.body).toContainEqual(added.body)
    expect((await admin<Answer>('POST', members, body)).body.code).toBe('CONFLICT')
    // A member through their login from now on; their token stays in its own project.
    const services = `/projects/${installation.project_id}/services`
    expect((await callers.callWith(userCredential(elsewhere))('GET', services)).status).toBe(200)
    expect((await callers.callWith(elsewhere.token)('GET', services)).status).toBe(404)
  })

  test('an unknown e-mail is an invitation', async () => {
    const body = { email: 'newcomer@example.com', role: 'viewer', name: ' New Comer ' }
    const invited = await admin<Answer>('POST', members, body)
    expect(invited.status).toBe(201)
    expect(invited.body).toMatchObject({ email: body.email, name: 'New Comer', role: 'viewer', joined: false })
    expect((await admin<Answer>('POST', members, body)).body.code).toBe('CONFLICT')
  })

  test('an admin makes no owner, an owner does', async () => {
    const body = { email: 'second-owner@example.com', role: 'owner' }
    const refused = await admin<Answer>('POST', members, body)
    expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN'])
    expect((await owner<Answer>('POST', members, body)).status).toBe(201)
  })

  test('what is no e-mail is refused in words', async () => {
    for (const email of [
      'x',
      'a@',
      '@b',
      'a b@c',
      'a@b@c',
      'a\n@b',
      'a@b',
      'a@b.1',
      'a@.com',
      'a@b..com',
      `${'x'.repeat(250)}@example.com`,
    ]) {
      const refused = await admin<Answer>('POST', members, { email, role: 'viewer' })
      expect([refused.status, refused.body.code], email).toEqual([400, 'INVALID_REQUEST'])
    }
    const refused = await admin<Answer>('POST', members, { email: 'nobody', role: 'king' })
    expect(refused.body.details?.split('\n')).toEqual([
      '/email: must look like an e-mail address, such as ada@example.com',
      '/role: must be one of viewer, developer, admin, owner',
    ])
  })
})

describe('changing', () => {
  test('a new role is in force at once, for the member’s login and for their tokens', async () => {
    const member = await callers.newToken('viewer')
    const calls = [callers.callWith(member.token), callers.callWith(userCredential(member))]
    const statuses = async () =>
      (await Promise.all(calls.map((call) => call('POST', members, {})))).map((it) => it.status)
    expect(await statuses()).toEqual([403, 403])
    expect(await setRole(admin, member, 'admin')).toMatchObject({ status: 200, body: { role: 'admin' } })
    expect(await statuses()).toEqual([400, 400])
    expect((await setRole(admin, member, 'viewer')).status).toBe(200)
    expect(await statuses()).toEqual([403, 403])
  })

  test('an admin neither promotes to owner nor touches one', async () => {
    const member = await callers.newToken('developer')
    const above = await callers.newToken('owner')
    for (const refused of [
      await setRole(admin, member, 'owner'),
      await setRole(admin, above, 'viewer'),
      await remove(admin, above),
    ]) {
      expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN'])
    }
    expect((await remove(owner, above)).status).toBe(204)
  })

  test('who is not a member is unknown', async () => {
    const stranger = await callers.newToken('viewer', { project_id: await callers.newProject() })
    for (const id of [String(stranger.user_id), '999999999', '0', 'x', '1e3', '99999999999999999999']) {
      expect((await admin('POST', `${members}/${id}/setRole`, { role: 'viewer' })).status, id).toBe(404)
      expect((await admin('DELETE', `${members}/${id}`)).status, id).toBe(404)
    }
  })
})

describe('removing', () => {
  test('a removed member loses the project and the tokens they issued, at once', async () => {
    const member = await callers.newToken('developer')
    const token = callers.callWith(member.token)
    const login = callers.callWith(userCredential(member))
    expect([(await token('GET', members)).status, (await login('GET', members)).status]).toEqual([200, 200])
    expect((await remove(admin, member)).status).toBe(204)
    expect([(await token('GET', members)).status, (await login('GET', members)).status]).toEqual([401, 404])
    expect((await login('GET', '/projects')).body).toEqual([])
    expect((await remove(admin, member)).status).toBe(404)
  })
})

describe('the last owner', () => {
  async function newOwners(count: number) {
    const project_id = await callers.newProject()
    const made = Array.from({ length: count }, () => callers.newToken('owner', { project_id }))
    const owners = await Promise.all(made)
    const at = `/projects/${project_id}/members`
    return { owners, at, calls: owners.map(({ token }) => callers.callWith(token)) }
  }

  test('is neither removed nor demoted, not even for an invited user', async () => {
    const { owners, at, calls } = await newOwners(1)
    const [only, call] = [owners[0], calls[0]]
    if (only === undefined || call === undefined) throw new Error('one owner was made')
    expect((await call('POST', at, { email: 'invited-owner@example.com', role: 'owner' })).status).toBe(201)
    for (const refused of [
      await call<Answer>('DELETE', `${at}/${only.user_id}`),
      await call<Answer>('POST', `${at}/${only.user_id}/setRole`, { role: 'admin' }),
    ]) {
      expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
      expect(refused.body.message).toContain('last owner')
    }
    expect((await call('POST', `${at}/${only.user_id}/setRole`, { role: 'owner' })).status).toBe(200)
  })

  test('is the one who is not disabled, who removes the other', async () => {
    const { owners, at, calls } = await newOwners(2)
    const [shut_out, acting] = owners.map(({ user_id }) => user_id)
    await callers.db.query('update users set disabled_at = now() where id = $1', [shut_out])
    expect(await calls[1]?.<Answer>('DELETE', `${at}/${acting}`)).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT' },
    })
    expect((await calls[1]?.('DELETE', `${at}/${shut_out}`))?.status).toBe(204)
  })

  test('remains when two owners demote each other at the same moment', async () => {
    const { owners, at, calls } = await newOwners(2)
    const demotions: Promise<{ status: number }>[] = []
    // No request can write until both have got as far as they can.
    await callers.db.transaction(async (tx) => {
      await tx.query('lock table members in share mode')
      for (const [index, call] of calls.entries()) {
        const other = owners[1 - index]
        demotions.push(call('POST', `${at}/${other?.user_id}/setRole`, { role: 'viewer' }))
      }
      await until(async () => (await countWaiting()) === 2)
    })
    const statuses = (await Promise.all(demotions)).map(({ status }) => status)
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 403])
  })

  async function countWaiting(): Promise<number> {
    const rows = await callers.db.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length
  }
})
