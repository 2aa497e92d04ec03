// A real service that moves into a VPC, is reached there and nowhere else, and moves out again.
import { expect, onTestFinished, test } from 'vitest'
import type { Capabilities } from '#contract/capabilities.ts'
import type { Peering } from '#contract/peering.ts'
import type { Vpc } from '#contract/vpc.ts'
import { namespaceAt } from '#providers/local/network/namespace.ts'
import { openInstallation } from '#server/installation.ts'
import { ask } from '../database.ts'
import { removeDataDir } from '../data-dir.ts'
import { newAttaching } from '../http/attaching.ts'
import { openCallers } from '../http/callers.ts'
import { startInstallation } from '../installation.ts'
import { why_no_networks as why } from '../network/vpc-fixture.ts'
import { whoInside } from '../network/who-inside.ts'
import { newServicePorts } from '../ports.ts'
import { without_user_namespaces } from '../privileges.ts'
import { newDataDirOfUser } from '../seed.ts'
import { startServerProcess } from '../server-process.ts'
import { shared } from '../shared.ts'
import { until } from '../until.ts'

const howdah = shared(startInstallation)
const callers = shared(() => openCallers(howdah))

const { attach, detach, newVpc, vpcs } = newAttaching(() => howdah)

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
