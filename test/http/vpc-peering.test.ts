// Peerings by the API: who must consent, what fails and in which words, what no caller learns.
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { unknown_peering, unknown_vpc } from '#contract/fault.ts'
import { peerings_per_vpc_max } from '#server/peering/rules.ts'
import { shared } from '#test/shared.ts'
import { needs } from '../offered.ts'
import { openCallers, userCredential, userVerifier } from './callers.ts'
import { get, inputFor, list, newSides, peer, untilActive, withdrawWhileAnswered } from './peers.ts'
import { startInRegion } from './region.ts'

const installation = shared(() => startInRegion({ verifiers: [userVerifier] }))
const callers = shared(() => openCallers(installation))
let newSide: ReturnType<typeof newSides>

beforeAll(async () => {
  newSide = newSides(callers)
})

beforeEach((context) => needs(context, installation, 'vpcs'))

describe('consent', () => {
  test('a peering waits for the other side, is active when that one asks too, and pending again without it', async () => {
    const [one, other] = [await newSide(), await newSide()]
    const asked = await peer(one, other)
    expect(asked.status).toBe(201)
    expect(asked.body).toEqual({
      id: expect.stringMatching(/^\d+$/),
      ...inputFor(other),
      status: 'pending',
      error_message: `project ${other.project_id} has not consented: one of its administrators creates a peering of VPC ${other.vpc.id} with VPC ${one.vpc.id} of project ${one.project_id}`,
    })
    expect(await list(other)).toEqual([])
    const ofProject = `/projects/${one.project_id}/peerings`
    expect((await one.call('GET', ofProject)).body).toEqual([{ ...asked.body, vpc_id: one.vpc.id }])
    const answered = await peer(other, one)
    expect(answered.body.id).not.toBe(asked.body.id)
    const active = await untilActive(one, asked.body.id)
    expect(active).toEqual({
      id: asked.body.id,
      ...inputFor(other),
      status: 'active',
      provisioned_id: expect.any(String),
    })
    await untilActive(other, answered.body.id)

    expect((await other.call('DELETE', `${other.peerings}/${answered.body.id}`)).status).toBe(204)
    expect(await get(one, asked.body.id)).toEqual(asked.body)
    expect(await list(other)).toEqual([])
  })

  test('two sides that ask at the same moment find each other', async () => {
    const [one, other] = [await newSide(), await newSide()]
    const [asked, answered] = await Promise.all([peer(one, other), peer(other, one)])
    await untilActive(one, asked.body.id)
    await untilActive(other, answered.body.id)
  })

  test('one side that withdraws while the other answers leaves no link', async () => {
    const [one, other] = [await newSide(), await newSide()]
    await withdrawWhileAnswered(callers, one, other)
    expect(await list(one)).toEqual([])
  })

  test('within one project one request makes both sides, and one deletion ends both', async () => {
    const one = await newSide()
    const other = await newSide({ project_id: one.project_id })
    const { body } = await peer(one, other)
    await untilActive(one, body.id)
    const [mirror] = await list(other)
    expect(mirror).toMatchObject(inputFor(one))
    expect((await other.call('DELETE', `${other.peerings}/${mirror?.id}`)).status).toBe(204)
    expect([await list(one), await list(other)]).toEqual([[], []])
  })

  test('a user who administers both projects consents for both; one who only looks does not', async () => {
    const [one, other] = [await newSide(), await newSide()]
    const person = callers.callWith(userCredential(one))
    const join = (role: string) =>
      callers.db.query(
        `insert into members (project_id, user_id, role) values ($1, $2, $3)
         on conflict (project_id, user_id) do update set role = excluded.role`,
        [other.project_id, one.user_id, role],
      )
    await join('developer')
    const waiting = await peer(one, other, {}, person)
    expect([waiting.body.status, await list(other)]).toEqual(['pending', []])
    await one.call('DELETE', `${one.peerings}/${waiting.body.id}`)
    await join('admin')
    const { body } = await peer(one, other, {}, person)
    await untilActive(one, body.id)
    expect(await list(other)).toMatchObject([inputFor(one)])
  })
})

describe('failure', () => {
  test('an account that is no project here has no driver', async () => {
    const one = await newSide()
    for (const account of ['123456789012', 'neverwas00', "x';drop/table/vpcs;--"]) {
      const { status, body } = await peer(one, { project_id: account, vpc: { id: 'vpc-0a1b2c' } })
      expect([status, body.status]).toEqual([201, 'failed'])
      expect(body.error_message).toContain('no driver for outside accounts is configured')
    }
  })

  test('a peer that the caller would see, if it were there, is not found', async () => {
    const one = await newSide()
    for (const id of ['999999999', 'vpc-0a1b2c', `0${one.vpc.id}`]) {
      const { body } = await peer(one, { ...one, vpc: { id } })
      expect(body).toMatchObject({ status: 'failed', error_message: expect.stringContaining('the peer was not found') })
    }
  })

  test('the wrong region and overlapping blocks fail, on both sides where both are wrong', async () => {
    const [one, other] = [await newSide(), await newSide()]
    const wrong = await peer(one, other, { peer_region_code: 'mars' })
    expect(wrong.body.status).toBe('pending')
    const { body: answered } = await peer(other, one)
    expect(await get(one, wrong.body.id)).toMatchObject({
      status: 'failed',
      error_message: `the region is wrong: VPC ${other.vpc.id} is in local, not in mars`,
    })
    expect(answered.status).toBe('pending')
    await one.call('DELETE', `${one.peerings}/${wrong.body.id}`)
    await untilActive(one, (await peer(one, other)).body.id)

    const [a, b] = [await newSide({ cidr: '10.120.0.0/16' }), await newSide({ cidr: '10.120.7.0/24' })]
    const { body: asked } = await peer(a, b)
    const { body: refused } = await peer(b, a)
    for (const seen of [refused, await get(a, asked.id)]) {
      expect(seen).toMatchObject({
        status: 'failed',
        error_message: expect.stringContaining('the CIDR blocks overlap'),
      })
    }
  })

  test('a VPC has no two peers with a common address', async () => {
    const hub = await newSide()
    const [first, second] = [await newSide({ cidr: '10.121.0.0/24' }), await newSide({ cidr: '10.121.0.0/24' })]
    await peer(first, hub)
    await untilActive(hub, (await peer(hub, first)).body.id)
    const { body: asked } = await peer(second, hub)
    const { body } = await peer(hub, second)
    expect(body.error_message).toBe(
      `the CIDR blocks overlap: VPC ${hub.vpc.id} has a peer already whose block overlaps 10.121.0.0/24`,
    )
    expect((await get(second, asked.id)).status).toBe('failed')
  })
})

describe('what is refused, and what no caller learns', () => {
  test('a VPC is not its own peer, and no peering is made twice', async () => {
    const [one, other] = [await newSide(), await newSide()]
    expect(await peer(one, one)).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
    const { body } = await peer(one, other)
    const twice = await peer(one, other, { peer_region_code: 'mars' })
    expect([twice.status, twice.body.code]).toEqual([409, 'CONFLICT'])
    expect(twice.body.message).toContain(body.id)
    const both = await Promise.all([peer(other, one), peer(other, one), peer(other, one)])
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409])
  })

  test('a VPC has as many peerings as it may, and no more', async () => {
    const one = await newSide()
    await callers.db.query(
      `insert into peerings (vpc_id, peer_account_id, peer_region_code, peer_vpc_id, failure)
       select $1, 'neverwas00', 'local', n, 'for this test' from generate_series(1, $2::integer) n`,
      [one.vpc.id, peerings_per_vpc_max],
    )
    expect(await peer(one, await newSide())).toMatchObject({ status: 403, body: { code: 'QUOTA_EXCEEDED' } })
    expect(await list(one)).toHaveLength(peerings_per_vpc_max)
  })

  test('a VPC of a project that the caller does not see is like an unknown one', async () => {
    const [one, other] = [await newSide(), await newSide()]
    await newSide({ project_id: other.project_id, cidr: one.vpc.cidr })
    const there = await peer(one, other)
    const overlapping = await peer(one, { ...other, vpc: { id: String(Number(other.vpc.id) + 1) } })
    const never = await peer(one, { ...other, vpc: { id: '999999999' } })
    const elsewhere = await peer(one, { ...other, vpc: { id: one.vpc.id } })
    const answers = [there, overlapping, never, elsewhere].map(({ status, body }) => {
      const { id: _, peer_vpc_id, ...rest } = body
      return JSON.stringify([status, rest]).replaceAll(`VPC ${peer_vpc_id} with`, 'VPC … with')
    })
    expect(new Set(answers).size).toBe(1)
    expect((await other.call('DELETE', `/projects/${other.project_id}/vpcs/${other.vpc.id}`)).status).toBe(204)
    expect(await get(one, there.body.id)).toEqual(there.body)
  })

  test('peerings are known by their own VPC only, and not by strange ids', async () => {
    const [one, other] = [await newSide(), await newSide()]
    const { body } = await peer(one, other)
    for (const id of [body.id, '1', 'x', '0', 'neverwas00']) {
      for (const method of ['GET', 'DELETE']) {
        const answer = await other.call(method, `${other.peerings}/${id}`)
        expect([answer.status, answer.body.message]).toEqual([404, unknown_peering])
      }
      const foreign = await one.call('GET', `/projects/${one.project_id}/vpcs/${other.vpc.id}/peerings/${id}`)
      if (/^[1-9]\d*$/.test(id)) expect([foreign.status, foreign.body.message]).toEqual([404, unknown_vpc])
    }
    expect((await get(one, body.id)).id).toBe(body.id)
  })

  test('a VPC with peerings of its own stays, and the refusal names them', async () => {
    const [one, other] = [await newSide(), await newSide()]
    const { body } = await peer(one, other)
    const at = `/projects/${one.project_id}/vpcs/${one.vpc.id}`
    const refused = await one.call('DELETE', at)
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
    expect(refused.body.message).toContain(`peering ${body.id}`)
    // A request of another project binds only that project.
    expect((await other.call('DELETE', `/projects/${other.project_id}/vpcs/${other.vpc.id}`)).status).toBe(204)
    await one.call('DELETE', `${one.peerings}/${body.id}`)
    expect((await one.call('DELETE', at)).status).toBe(204)
  })
})
