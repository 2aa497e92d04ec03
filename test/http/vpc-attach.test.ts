// Attaching services to VPCs by the API: what is refused, which addresses are given, and a real service that moves in, is
// reached there and nowhere else, and moves out again.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Capabilities } from '#contract/capabilities.ts'
import { unknown_service, unknown_vpc } from '#contract/fault.ts'
import type { Peering } from '#contract/peering.ts'
import type { Vpc } from '#contract/vpc.ts'
import { namespaceAt } from '#providers/local/network/namespace.ts'
import { openInstallation } from '#server/installation.ts'
import { ask } from '../database.ts'
import { removeDataDir } from '../data-dir.ts'
import { newServicePorts } from '../ports.ts'
import type { TestInstallation } from '../installation.ts'
import { startInRegion } from './region.ts'
import { why_no_networks as why } from '../network/vpc-fixture.ts'
import { whoInside } from '../network/who-inside.ts'
import { without_user_namespaces } from '../privileges.ts'
import { newDataDirOfUser } from '../seed.ts'
import { startServerProcess } from '../server-process.ts'
import { until } from '../until.ts'
import { giveAddresses } from '#test/addresses.ts'
import { type Callers, openCallers } from './callers.ts'

type Attached = { vpcEndpoint?: object; vpc_endpoint?: object; endpoint: { host: string; port: number } }

let howdah: TestInstallation
let callers: Callers

beforeAll(async () => {
  howdah = await startInRegion({}, 'local')
  callers = await openCallers(howdah)
})

afterAll(async () => {
  await callers?.close()
  await howdah?.stop()
})

const attach = (service_id: string, vpc_id: string) =>
  howdah.call('POST', `${howdah.services}/${service_id}/attachToVPC`, { vpc_id })
const detach = (service_id: string, body?: object) =>
  howdah.call('POST', `${howdah.services}/${service_id}/detachFromVPC`, body)
const vpcs = () => `/projects/${howdah.project_id}/vpcs`

async function newVpc(cidr: string): Promise<Vpc> {
  return (await howdah.call<Vpc>('POST', vpcs(), { cidr, name: 'a VPC', region_code: 'local' })).body
}

describe('as rows of a region that no server runs', () => {
  // Passed over again and again in vain, for as long as they are there.
  afterAll(async () => {
    for (const table of ['addresses', 'services']) {
      await callers.db.query(`delete from ${table} where region_code = 'elsewhere'`)
    }
    await callers.db.query(`delete from vpcs where region_code = 'elsewhere'`)
  })

  /** A service that seems READY and stays so until a request changes it. */
  async function insertService(): Promise<string> {
    const [row] = await callers.db.query<{ service_id: string }>(
      `insert into services (service_id, project_id, name, region_code, service_type, environment,
         password_verifier, state, settled_generation)
       values (substr(md5(random()::text), 1, 10), $1, 'a row', 'elsewhere', 'POSTGRES', 'DEV', '', 'serving', 1)
       returning service_id`,
      [howdah.project_id],
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

  test('a VPC of another project, of no project, or deleted is unknown; one of another region is refused', async () => {
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

test.skipIf(why)(
  `a service moves into a VPC and out again, and its VPC stays as long as it is needed${why}`,
  async () => {
    const vpc = await newVpc('10.77.0.0/24')
    const made = await howdah.createService({ cpu_millis: 'shared' })
    const at = `${howdah.services}/${made.service_id}`
    const { body: before } = await howdah.call('GET', at)
    expect(before).not.toHaveProperty('vpcEndpoint')

    expect((await attach(made.service_id, vpc.id)).status).toBe(202)
    const { body: inside } = await howdah.untilStatus(made.service_id, 'READY')
    expect(inside.endpoint).toEqual({ host: '10.77.0.2', port: 5432 })
    expect(await askInside(vpc.id, '10.77.0.2', made.initial_password)).toBe('tsdbadmin')
    await expect(ask(howdah.server.api_url, made, made.initial_password, 'select 1')).rejects.toThrow('ECONNREFUSED')
    expect((await attach(made.service_id, vpc.id)).status).toBe(409)
    const in_use = await howdah.call('DELETE', `${vpcs()}/${vpc.id}`)
    expect([in_use.status, in_use.body.code]).toEqual([409, 'CONFLICT'])
    expect(in_use.body.message).toContain(`service ${made.service_id} (test)`)
    expect(await detach(made.service_id, { vpc_id: '1' })).toMatchObject({
      status: 400,
      body: { details: expect.stringContaining(`/vpc_id: the service is attached to VPC ${vpc.id}`) },
    })

    expect(await detach(made.service_id)).toMatchObject({
      status: 202,
      body: { message: `the service leaves VPC ${vpc.id}` },
    })
    expect((await howdah.call('DELETE', `${vpcs()}/${vpc.id}`)).status).toBe(204)
    const { body: after } = await howdah.untilStatus(made.service_id, 'READY')
    expect(after).toMatchObject({ endpoint: before.endpoint })
    expect(after).not.toHaveProperty('vpcEndpoint')
    const who = await ask(howdah.server.api_url, made, made.initial_password, 'select current_user')
    expect(who).toEqual(['tsdbadmin'])
    await until(async () => (await callers.db.query('select from vpcs where id = $1', [vpc.id])).length === 0, {
      what: 'nothing is left of the VPC',
    })
  },
)

test.skipIf(why)(
  `everything else goes on inside a VPC: a new password, a pause, a fork, and what comes from a peer${why}`,
  async () => {
    const vpc = await newVpc('10.80.0.0/24')
    const other = await newVpc('10.81.0.0/24')
    const made = await howdah.createService({ cpu_millis: 'shared' })
    const at = `${howdah.services}/${made.service_id}`
    await attach(made.service_id, vpc.id)
    await howdah.untilStatus(made.service_id, 'READY')
    expect((await howdah.call('POST', `${at}/updatePassword`, { password: 'another one' })).status).toBe(204)
    expect((await howdah.call('POST', `${at}/stop`)).status).toBe(202)
    await howdah.untilStatus(made.service_id, 'PAUSED')
    expect((await howdah.call('POST', `${at}/start`)).status).toBe(202)
    const { body: started } = await howdah.untilStatus(made.service_id, 'READY')
    expect(started.endpoint).toEqual({ host: '10.80.0.2', port: 5432 })
    const fork = await howdah.call('POST', `${at}/forkService`, { fork_strategy: 'NOW' })
    const { body: forked } = await howdah.untilStatus(fork.body.service_id, 'READY')
    expect(forked.endpoint.host).toBe('127.0.0.1')
    expect(forked).not.toHaveProperty('vpc_endpoint')

    const peerings = `${vpcs()}/${other.id}/peerings`
    const peer = { peer_account_id: howdah.project_id, peer_region_code: 'local', peer_vpc_id: vpc.id }
    const { body: peering } = await howdah.call<Peering>('POST', peerings, peer)
    await until(async () => (await howdah.call<Peering>('GET', `${peerings}/${peering.id}`)).body.status === 'active')
    expect(await askInside(other.id, '10.80.0.2', 'another one')).toBe('tsdbadmin')
    expect((await howdah.call('DELETE', `${peerings}/${peering.id}`)).status).toBe(204)
    await expect(askInside(other.id, '10.80.0.2', 'another one')).rejects.toThrow('ENETUNREACH')
  },
)

test.skipIf(why)(`a service that is deleted leaves its VPC, which can be deleted at once${why}`, async () => {
  const vpc = await newVpc('10.78.0.0/24')
  const { service_id } = await howdah.createService({ cpu_millis: 'shared' })
  await attach(service_id, vpc.id)
  expect((await howdah.call('DELETE', `${howdah.services}/${service_id}`)).status).toBe(202)
  expect((await howdah.call('DELETE', `${vpcs()}/${vpc.id}`)).status).toBe(204)
  await howdah.untilStatus(service_id, 'removed')
  await until(async () => (await callers.db.query('select from vpcs where id = $1', [vpc.id])).length === 0)
})

test.skipIf(why)(
  `a server without the privilege makes VPCs, and says what it lacks when one is to be used${why}`,
  async () => {
    const data_dir = await newDataDirOfUser()
    onTestFinished(() => removeDataDir(data_dir))
    const prefix = without_user_namespaces
    const server = await startServerProcess({ data_dir, service_ports: newServicePorts(), prefix })
    const call = server.callWith(server.first_token ?? '')
    const project = `/projects/${server.project_id}`
    const vpc = await call<Vpc>('POST', `${project}/vpcs`, { cidr: '10.79.0.0/24', name: 'x', region_code: 'local' })
    expect(vpc.status).toBe(201)
    const { body } = await call('POST', `${project}/services`, { name: 'x', cpu_millis: 'shared' })
    const at = `${project}/services/${body.service_id}`
    await until(async () => (await call('GET', at)).body.status === 'READY')
    // Networks take programs to try: until the first poll they count as offered.
    await until(async () => !(await call<Capabilities>('GET', '/capabilities')).body.regions[0]?.features.vpcs.offered)
    const refused = await call('POST', `${at}/attachToVPC`, { vpc_id: vpc.body.id })
    expect([refused.status, refused.body.code]).toEqual([400, 'INVALID_REQUEST'])
    expect(refused.body.details).toMatch(
      /CAP_SYS_ADMIN and CAP_NET_ADMIN.*let ordinary users have user namespaces.*systemd/,
    )
    expect((await call('GET', at)).body.status).toBe('READY')
    expect((await call('DELETE', `${project}/vpcs/${vpc.body.id}`)).status).toBe(204)
    await server.end('SIGTERM')
  },
)

async function askInside(vpc_id: string, host: string, password: string): Promise<string> {
  const { installation_id, local_directory } = await openInstallation(howdah.config.data_dir)
  const { enter } = namespaceAt({ installation_id, directory: local_directory }, vpc_id)
  return await whoInside(enter, { api_url: howdah.server.api_url, host, password })
}
