// Attaching services to VPCs by the API: what is refused, and which addresses are given.
import { afterAll, describe, expect, test } from 'vitest'
import { unknown_service, unknown_vpc } from '#contract/fault.ts'
import { giveAddresses } from '#test/addresses.ts'
import { untilWaiting } from '#test/database.ts'
import { needs } from '#test/offered.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { newAttaching } from './attaching.ts'
import { openCallers } from './callers.ts'
import { startInRegion } from './region.ts'

type Attached = { vpcEndpoint?: object; vpc_endpoint?: object; endpoint: { host: string; port: number } }

const howdah = shared(startInRegion)
const callers = shared(() => openCallers(howdah))

const { attach, detach, newVpc, vpcs } = newAttaching(() => howdah)

describe('as rows that no pass is made over', () => {
  afterAll(async () => {
    for (const table of ['work', 'addresses', 'services']) {
      await callers.db.query(`delete from ${table} where region_code = 'elsewhere'`)
    }
    await callers.db.query(`delete from vpcs where region_code = 'elsewhere'`)
  })

  /** A service that seems READY and stays so until a request changes it: a lease that no server holds keeps passes away. */
  async function insertService(): Promise<string> {
    const [row] = await callers.db.query<{ service_id: string }>(
      `insert into services (service_id, project_id, name, region_code, service_type, environment,
         password_verifier, state, settled_generation)
       values (substr(md5(random()::text), 1, 10), $1, 'a row', 'elsewhere', 'POSTGRES', 'DEV', '', 'serving', 1)
       returning service_id`,
      [howdah.project_id],
    )
    await callers.db.query(
      `insert into work (kind, key, region_code, lease_until) values ('service', $1, 'elsewhere', now() + interval '1 hour')`,
      [row?.service_id],
    )
    await giveAddresses(callers.db)
    return row?.service_id ?? ''
  }

  async function insertVpc(cidr: string, project_id = howdah.project_id): Promise<string> {
    const [row] = await callers.db.query<{ id: number }>(
      `insert into vpcs (project_id, region_code, name, cidr) values ($1, 'elsewhere', 'a row', $2) returning id`,
      [project_id, cidr],
    )
    return String(row?.id)
  }

  test('every service has an address of its own, the lowest that is free, until the VPC is full', async () => {
    const vpc_id = await insertVpc('10.65.0.0/28')
    const ids = await Promise.all(Array.from({ length: 14 }, insertService))
    const answers = await Promise.all(ids.map((service_id) => attach(service_id, vpc_id)))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      ...Array.from({ length: 13 }, () => 202),
      409,
    ])
    const full = answers.find(({ status }) => status === 409)
    expect(full?.body).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('has no free address') })
    const views = await Promise.all(
      ids.map((service_id) => howdah.call<Attached>('GET', `${howdah.services}/${service_id}`)),
    )
    const hosts = views.map(({ body }) => body.endpoint).filter(({ port }) => port === 5432)
    const last = (host: string) => Number(host.replace('10.65.0.', ''))
    expect(hosts.map(({ host }) => last(host)).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 13 }, (_, index) => index + 2),
    )
  })

  test('the answer says where, the service is CONFIGURING and shows its address at once', async () => {
    const vpc_id = await insertVpc('10.66.0.0/24')
    const service_id = await insertService()
    const answer = await attach(service_id, vpc_id)
    expect([answer.status, answer.body]).toEqual([
      202,
      { message: `the service moves to 10.66.0.2:5432 in VPC ${vpc_id}` },
    ])
    const endpoint = { host: '10.66.0.2', port: 5432 }
    const in_vpc = { ...endpoint, vpc_id }
    const { body } = await howdah.call('GET', `${howdah.services}/${service_id}`)
    expect(body).toMatchObject({ status: 'CONFIGURING', endpoint, vpcEndpoint: in_vpc, vpc_endpoint: in_vpc })
    expect(await attach(service_id, vpc_id)).toMatchObject({ status: 400, body: { code: 'WRONG_STATE' } })
    expect(await detach(service_id)).toMatchObject({ status: 400, body: { code: 'WRONG_STATE' } })
  })

  test('a VPC of another project, of no project, or deleted is unknown; one of another region is refused', async (context) => {
    await needs(context, howdah, 'vpcs')
    const service_id = await insertService()
    const deleted = await insertVpc('10.67.0.0/24')
    expect((await howdah.call('DELETE', `${vpcs()}/${deleted}`)).status).toBe(204)
    const foreign = await insertVpc('10.67.0.0/24', await callers.newProject())
    for (const id of [deleted, foreign, '999999999', '', 'x', '-1', '1e3', `${foreign} `]) {
      const answer = await attach(service_id, id)
      expect([answer.status, answer.body.message], id).toEqual([404, unknown_vpc])
    }
    const { id } = await newVpc('10.68.0.0/24')
    const elsewhere = await attach(service_id, id)
    expect(elsewhere).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
    expect(elsewhere.body.details).toContain(`VPC ${id} is in region local, the service in elsewhere`)
    expect(await attach('neverwas00', id)).toMatchObject({ status: 404, body: { message: unknown_service } })
  })

  test('a service that is in no VPC cannot leave one', async () => {
    const answer = await detach(await insertService(), {})
    expect(answer).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
  })
})

describe('while an older pass ends', () => {
  /**
   * Passes over it and its service wait until the change is requested; one of them reads it so, and is written down right after an
   * attachment that was requested meanwhile: the row is locked until both wait for it, in this order.
   */
  async function attachDuringPass(
    { service_id, key, table }: { service_id: string; key: string; table: 'services' | 'replica_sets' },
    requestChange: () => Promise<{ status: number }>,
    vpc_id: string,
  ) {
    const id = table === 'services' ? 'service_id' : 'replica_set_id'
    const { db } = callers
    const keepPassesAway = `update work set lease_token = null, lease_until = now() + interval '1 hour' where key = any($1)`
    const letPass = async (keys: string[]) => {
      await db.query(`update work set lease_until = null, due_at = now() where key = any($1)`, [keys])
      await db.query(`select pg_notify('work', '')`)
    }
    await db.query(keepPassesAway, [[key, service_id]])
    const changing = requestChange()
    await until(async () => (await db.query(`select from ${table} where ${id} = $1 and generation = 2`, [key])).length)
    const attaching = await db.transaction(async (tx) => {
      await tx.query(`select from ${table} where ${id} = $1 for update`, [key])
      const answer = attach(service_id, vpc_id)
      await untilWaiting(db, 1)
      await letPass([key])
      await untilWaiting(db, 2)
      return { answer }
    })
    await letPass([service_id])
    return [(await changing).status, (await attaching.answer).status]
  }

  test('a service keeps the address that its attachment has taken', async (context) => {
    await needs(context, howdah, 'vpcs')
    const { service_id } = await howdah.createService()
    const { id } = await newVpc('10.69.0.0/24')
    const at = `${howdah.services}/${service_id}`
    const requestChange = () => howdah.call('POST', `${at}/updatePassword`, { password: 'a long new password' })
    const answers = await attachDuringPass({ service_id, key: service_id, table: 'services' }, requestChange, id)
    expect(answers).toEqual([204, 202])
    const { status, body } = await howdah.call<Attached>('GET', at)
    expect([status, body.vpcEndpoint]).toMatchObject([200, { vpc_id: id }])
    await howdah.untilStatus(service_id, 'READY')
    expect((await detach(service_id)).status).toBe(202)
    await howdah.untilStatus(service_id, 'READY')
  })

  test('a replica set keeps the address that the attachment of its service has taken', async (context) => {
    await needs(context, howdah, 'vpcs')
    const { service_id } = await howdah.createService()
    const { id: vpc_id } = await newVpc('10.70.0.0/24')
    const sets = `${howdah.services}/${service_id}/replicaSets`
    const set = { name: 'readers', nodes: 1, cpu_millis: '500', memory_gbs: '2' }
    const { id } = (await howdah.call<{ id: string }>('POST', sets, set)).body
    await howdah.untilStatus(id, 'READY')
    const requestChange = () => howdah.call('POST', `${sets}/${id}/resize`, { cpu_millis: '1000', memory_gbs: '4' })
    const answers = await attachDuringPass({ service_id, key: id, table: 'replica_sets' }, requestChange, vpc_id)
    expect(answers).toEqual([202, 202])
    expect((await howdah.call('GET', howdah.services)).status).toBe(200)
    await howdah.untilStatus(id, 'READY')
  })
})
