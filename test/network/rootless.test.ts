// VPCs of a server that an ordinary user runs: the same networks, inside a user namespace, without any privilege.
import { readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Peering } from '#contract/peering.ts'
import type { Service } from '#contract/service.ts'
import type { Vpc } from '#contract/vpc.ts'
import { removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { ask } from '#test/database.ts'
import { repository } from '#test/e2e/howdah.ts'
import { as_ordinary_user, readable } from '#test/privileges.ts'
import { newDataDirOfUser } from '#test/seed.ts'
import { startServerProcess } from '#test/server-process.ts'
import { until } from '#test/until.ts'
import { why_no_networks as why } from './vpc-fixture.ts'
import { whoInside } from './who-inside.ts'

test.skipIf(why)(`an ordinary user has VPCs, peers and poolers in them, also after a reboot${why}`, async () => {
  const data_dir = await newDataDirOfUser()
  onTestFinished(() => removeDataDir(data_dir))
  const place = { data_dir, service_ports: newServicePorts(), prefix: as_ordinary_user }
  const server = await startServerProcess(place)
  const call = server.callWith(server.first_token ?? '')
  const project = `/projects/${server.project_id}`
  const newVpc = async (cidr: string) =>
    (await call<Vpc>('POST', `${project}/vpcs`, { cidr, name: 'x', region_code: 'local' })).body
  const [vpc, other] = [await newVpc('10.91.0.0/24'), await newVpc('10.92.0.0/24')]
  const { body: service } = await call<Service>('POST', `${project}/services`, { name: 'x', cpu_millis: 'shared' })
  const at = `${project}/services/${service.service_id}`
  const untilReady = () => until(async () => (await call<Service>('GET', at)).body.status === 'READY')
  const password = service.initial_password ?? ''
  // As a person would: with a program that howdah runs inside.
  const askInside = (vpc_id: string, host: string) => {
    const exec = [
      readable(join(repository, 'bin/howdah')),
      'admin',
      'vpc',
      'exec',
      vpc_id,
      '--data-dir',
      data_dir,
      '--',
    ]
    return whoInside([...as_ordinary_user, ...exec], { api_url: server.api_url, host, password })
  }

  await untilReady()
  expect((await call('POST', `${at}/enablePooler`)).status).toBe(200)
  expect((await call('POST', `${at}/attachToVPC`, { vpc_id: vpc.id })).status).toBe(202)
  await untilReady()
  const pooler = (await call<Service>('GET', at)).body.connection_pooler?.endpoint
  expect(pooler).toEqual({ host: '10.91.0.3', port: 5432 })
  expect(await askInside(vpc.id, '10.91.0.3')).toBe('tsdbadmin')
  await expect(ask(server.api_url, service, password, 'select 1')).rejects.toThrow('ECONNREFUSED')

  const peerings = `${project}/vpcs/${other.id}/peerings`
  const peer = { peer_account_id: server.project_id, peer_region_code: 'local', peer_vpc_id: vpc.id }
  const { body: peering } = await call<Peering>('POST', peerings, peer)
  await until(async () => (await call<Peering>('GET', `${peerings}/${peering.id}`)).body.status === 'active')

  // The process that owns the networks is killed, and all of them with it, as after a reboot.
  const owner = readlinkSync(join(data_dir, 'local/run/networks'))
  process.kill(Number(owner.replace('/proc/', '')), 'SIGKILL')
  await until(() => askInside(other.id, '10.91.0.2'), { what: 'the service is in a new network, linked to its peer' })

  expect((await call('DELETE', `${peerings}/${peering.id}`)).status).toBe(204)
  await expect(askInside(other.id, '10.91.0.2')).rejects.toThrow('ENETUNREACH')
  await untilReady()
  expect((await call('POST', `${at}/detachFromVPC`)).status).toBe(202)
  await untilReady()
  expect(await ask(server.api_url, service, password, 'select current_user')).toEqual(['tsdbadmin'])
  await server.end('SIGTERM')
})
