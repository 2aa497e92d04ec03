// VPCs by the API: made, named, refused, deleted; never two with a common address in one project, whichever request is first.
import { beforeEach, describe, expect, test } from 'vitest'
import { overlaps, parseCidr } from '#contract/cidr.ts'
import { type FaultBody, unknown_vpc } from '#contract/fault.ts'
import type { Vpc } from '#contract/vpc.ts'
import { vpcs_per_project_max } from '#server/vpc/rules.ts'
import { shared } from '#test/shared.ts'
import type { Call } from '../call.ts'
import { needs } from '../offered.ts'
import { until } from '../until.ts'
import { openCallers } from './callers.ts'
import { startInRegion } from './region.ts'

type VpcOrFault = Vpc & FaultBody

const installation = shared(startInRegion)
const callers = shared(() => openCallers(installation))

beforeEach((context) => needs(context, installation, 'vpcs'))

type Owner = { call: Call; vpcs: string; project_id: string }

/** A project of its own for each test, so that no block is taken. */
async function newOwner(): Promise<Owner> {
  const { token, project_id } = await callers.newToken('admin', { project_id: await callers.newProject() })
  return { call: callers.callWith(token), vpcs: `/projects/${project_id}/vpcs`, project_id }
}

const create = ({ call, vpcs }: Owner, cidr: string, more: Record<string, unknown> = {}) =>
  call<VpcOrFault>('POST', vpcs, { cidr, name: 'a VPC', region_code: 'local', ...more })

describe('a VPC', () => {
  test('is made, listed, read, renamed and deleted', async () => {
    const owner = await newOwner()
    const { call, vpcs } = owner
    expect((await call('GET', vpcs)).body).toEqual([])
    const made = await create(owner, '10.100.0.0/16', { name: ' first ' })
    const vpc = { id: expect.stringMatching(/^\d+$/), cidr: '10.100.0.0/16', name: 'first', region_code: 'local' }
    expect([made.status, made.body]).toEqual([201, vpc])
    const at = `${vpcs}/${made.body.id}`
    const second = await create(owner, '10.101.0.0/28')
    expect((await call('GET', vpcs)).body).toEqual([made.body, second.body])
    expect(await call('GET', at)).toMatchObject({ status: 200, body: made.body })
    const renamed = await call('POST', `${at}/rename`, { name: 'renamed' })
    expect([renamed.status, renamed.body]).toEqual([200, { ...made.body, name: 'renamed' }])
    const deleted = await call('DELETE', at)
    expect([deleted.status, deleted.body]).toEqual([204, undefined])
    expect(await call('GET', at)).toMatchObject({ status: 404, body: { message: unknown_vpc } })
    expect(await call('DELETE', at)).toMatchObject({ status: 404, body: { message: unknown_vpc } })
    expect(await call('POST', `${at}/rename`, { name: 'x' })).toMatchObject({ status: 404 })
    expect((await call('GET', vpcs)).body).toEqual([second.body])
    await until(async () => (await callers.db.query('select from vpcs where id = $1', [made.body.id])).length === 0)
  })

  test('of another project, with a strange id or without one is the same as none', async () => {
    const other = await newOwner()
    const { body: foreign } = await create(other, '10.102.0.0/24')
    const { call, vpcs } = await newOwner()
    for (const id of [foreign.id, '1', '999999999', '0', '01', '-1', '1e3', 'x', `${foreign.id}%00`, '9'.repeat(40)]) {
      const answers = [
        await call('GET', `${vpcs}/${id}`),
        await call('DELETE', `${vpcs}/${id}`),
        await call('POST', `${vpcs}/${id}/rename`, { name: 'x' }),
        await call('GET', `${vpcs}/${id}/peerings`),
      ]
      for (const { status, body } of answers) expect([status, body.message]).toEqual([404, unknown_vpc])
    }
    expect((await other.call('GET', `${other.vpcs}/${foreign.id}`)).status).toBe(200)
  })

  test('is written down in the audit log by its id', async () => {
    const owner = await newOwner()
    const { body } = await create(owner, '10.100.0.0/16')
    const audit = await owner.call<{ entries: unknown[] }>('GET', `/projects/${owner.project_id}/audit`)
    expect(audit.body.entries).toMatchObject([{ endpoint: 'createVpc', resource_id: body.id, status: 201 }])
  })

  test('keeps its project from being deleted, by name', async () => {
    const { token, project_id } = await callers.newToken('owner', { project_id: await callers.newProject() })
    const owner = { call: callers.callWith(token), vpcs: `/projects/${project_id}/vpcs`, project_id }
    const { body } = await create(owner, '10.100.0.0/16', { name: 'home' })
    const refused = await owner.call('DELETE', `/projects/${project_id}`)
    expect(refused).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
    expect(refused.body.message).toContain(`VPC ${body.id} (home)`)
  })
})

describe('what cannot be', () => {
  test('every wrong field is told at once', async () => {
    const owner = await newOwner()
    const answer = await create(owner, '10.0.0.1/16', { region_code: 'nowhere' })
    expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_REQUEST'])
    expect(answer.body.details?.split('\n')).toEqual([
      '/region_code: there is no region "nowhere"; the regions are local, elsewhere',
      '/cidr: has host bits that are not zero; the network is 10.0.0.0/16',
    ])
    expect((await owner.call('GET', owner.vpcs)).body).toEqual([])
  })

  test('a block that overlaps another one of the project is refused by its name; in another project it is fine', async () => {
    const owner = await newOwner()
    const { body: first } = await create(owner, '10.100.16.0/20', { name: 'first' })
    for (const cidr of ['10.100.16.0/20', '10.100.0.0/16', '10.100.31.240/28']) {
      const answer = await create(owner, cidr)
      expect([answer.status, answer.body.code]).toEqual([409, 'CONFLICT'])
      expect(answer.body.message).toContain(`${cidr} overlaps VPC ${first.id} (first, 10.100.16.0/20)`)
    }
    expect((await create(owner, '10.100.32.0/20')).status).toBe(201)
    expect((await create(owner, '10.100.0.0/20')).status).toBe(201)
    expect((await create(await newOwner(), '10.100.16.0/20')).status).toBe(201)
  })

  test('a block is free again as soon as its VPC is deleted', async () => {
    const owner = await newOwner()
    const { body } = await create(owner, '10.100.0.0/16')
    expect((await owner.call('DELETE', `${owner.vpcs}/${body.id}`)).status).toBe(204)
    expect((await create(owner, '10.100.0.0/16')).status).toBe(201)
  })

  test('of overlapping ones that are asked for at the same moment exactly one is made', async () => {
    const owner = await newOwner()
    const cidrs = [
      '10.103.0.0/16',
      '10.103.0.0/17',
      '10.103.128.0/17',
      '10.103.128.0/24',
      '10.103.0.0/20',
      '10.103.128.0/28',
    ]
    const answers = await Promise.all(cidrs.map((cidr) => create(owner, cidr)))
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true)
    const made = answers.filter(({ status }) => status === 201).map(({ body }) => parseCidr(body.cidr))
    expect(made.length).toBeGreaterThanOrEqual(1)
    for (const one of made) expect(made.filter((other) => overlaps(one, other))).toEqual([one])
    const same = await Promise.all(Array.from({ length: 12 }, () => create(owner, '10.104.0.0/16')))
    expect(same.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(same.filter(({ status }) => status === 409)).toHaveLength(11)
  })
})

test('a project has as many VPCs as it may, and no more', async () => {
  const owner = await newOwner()
  await callers.db.query(
    `insert into vpcs (project_id, region_code, name, cidr)
     select $1, 'elsewhere', 'number ' || n, ('10.' || n || '.0.0/16')::cidr from generate_series(1, $2::integer) n`,
    [owner.project_id, vpcs_per_project_max],
  )
  expect((await owner.call<Vpc[]>('GET', owner.vpcs)).body).toHaveLength(vpcs_per_project_max)
  const answer = await create(owner, '10.110.0.0/24')
  expect([answer.status, answer.body.code]).toEqual([403, 'QUOTA_EXCEEDED'])
})
