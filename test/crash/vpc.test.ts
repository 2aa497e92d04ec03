// VPCs when the server dies: killed in the middle of verbs, two in each run, it finishes the work after its next start; networks that
// vanished meanwhile are made again, and unwanted ones are removed, unless they are another store's.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Peering } from '#contract/peering.ts'
import type { Service } from '#contract/service.ts'
import type { Vpc } from '#contract/vpc.ts'
import { namespaceOf } from '#providers/local/network/name.ts'
import { type Db, openDb } from '#server/store/db.ts'
import type { Call } from '#test/call.ts'
import { removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { storeUrlOf } from '#test/database.ts'
import { listBarriers, listNamespaces } from '#test/networks.ts'
import { why_no_networks as why } from '#test/network/vpc-fixture.ts'
import { sampleOf } from '#test/sample.ts'
import { newSeededDataDir } from '#test/seed.ts'
import { type ServerProcess, startServerProcess } from '#test/server-process.ts'
import { until } from '#test/until.ts'

const place = { data_dir: '', service_ports: newServicePorts() }
let server: ServerProcess
let token = ''
let project = ''
let db: Db | undefined

beforeAll(async () => {
  place.data_dir = await newSeededDataDir()
  server = await startServerProcess(place)
  token = server.first_token ?? ''
  project = `/projects/${server.project_id}`
})

afterAll(async () => {
  await db?.close()
  await server?.end()
  await removeDataDir(place.data_dir)
})

const call: Call = (...request) => server.callWith(token)(...request)

const newVpc = async (cidr: string) =>
  (await call<Vpc>('POST', `${project}/vpcs`, { cidr, name: 'x', region_code: 'local' })).body

/** At which the server is killed in this run. */
const killing = sampleOf(
  ['network: furnish', 'VPC address: add', 'link: open', 'link: end connections', 'network: remove'] as const,
  2,
)

/** Sends the request to a server that dies right before the effect, whether or not it has answered, and starts another. */
async function killedAt(effect: (typeof killing)[number], request: () => Promise<unknown>): Promise<void> {
  if (!killing.includes(effect)) return void (await request())
  await server.killAt(effect, 1)
  await request().catch(() => undefined)
  await server.ended
  server = await startServerProcess(place)
}

const installationId = () => readFileSync(join(place.data_dir, 'installation-id'), 'utf8').trim()

const nameOf = (vpc_id: string) => namespaceOf({ installation_id: installationId() }, vpc_id)

const traces = () => [...listNamespaces(installationId()), ...listBarriers(installationId())]

async function untilReady(at: string): Promise<Service> {
  return until(
    async () => {
      const { body } = await call<Service>('GET', at)
      return body.status === 'READY' && body
    },
    { what: 'the service is READY' },
  )
}

test.skipIf(why)(`every verb of VPCs ends well, although the server is killed in the middle of it${why}`, async () => {
  await killedAt('network: furnish', () => newVpc('10.81.0.0/24'))
  const [one] = (await call<Vpc[]>('GET', `${project}/vpcs`)).body
  if (one === undefined) throw new Error('the VPC was not written down')
  const other = await newVpc('10.82.0.0/24')
  const { body: service } = await call('POST', `${project}/services`, { name: 'x', cpu_millis: 'shared' })
  const at = `${project}/services/${service.service_id}`
  const { endpoint } = await untilReady(at)

  await killedAt('VPC address: add', () => call('POST', `${at}/attachToVPC`, { vpc_id: one.id }))
  expect((await untilReady(at)).endpoint).toEqual({ host: '10.81.0.2', port: 5432 })

  const peerings = `${project}/vpcs/${one.id}/peerings`
  const peer = { peer_account_id: server.project_id, peer_region_code: 'local', peer_vpc_id: other.id }
  await killedAt('link: open', () => call('POST', peerings, peer))
  const active = await until(async () => {
    const { body } = await call<Peering[]>('GET', peerings)
    return body[0]?.status === 'active' && body[0]
  })
  await killedAt('link: end connections', () => call('DELETE', `${peerings}/${active.id}`))
  expect((await call('GET', peerings)).body).toEqual([])
  await until(() => linksOf(one.id).length === 0, { what: 'the link is cut' })

  await call('POST', `${at}/detachFromVPC`)
  expect((await untilReady(at)).endpoint).toEqual(endpoint)
  await call('DELETE', at)
  await call('DELETE', `${project}/vpcs/${other.id}`)
  await killedAt('network: remove', () => call('DELETE', `${project}/vpcs/${one.id}`))
  await until(() => traces().length === 0, { what: 'nothing is left of the VPCs' })
})

test.skipIf(why)(
  `networks are made again after a reboot, unwanted ones are removed, and those of another store stay${why}`,
  async () => {
    const vpc = await newVpc('10.83.0.0/24')
    const leftover = await newVpc('10.84.0.0/24')
    const { body: service } = await call('POST', `${project}/services`, { name: 'x', cpu_millis: 'shared' })
    const at = `${project}/services/${service.service_id}`
    await untilReady(at)
    await call('POST', `${at}/attachToVPC`, { vpc_id: vpc.id })
    await untilReady(at)
    await until(() => listNamespaces(installationId()).length === 2)
    await server.end('SIGTERM')
    execFileSync('ip', ['netns', 'delete', nameOf(vpc.id)])
    db = openDb(storeUrlOf(place.data_dir))
    await db.query('delete from vpcs where id = $1', [leftover.id])
    await db.query(`delete from work where kind = 'vpc'`)
    // Of a store that knew more VPCs than this one does: an administrator may have started with the wrong one.
    const foreign = nameOf('2000')
    execFileSync('ip', ['netns', 'add', foreign])
    server = await startServerProcess(place)
    const wanted = [nameOf(vpc.id), foreign].toSorted()
    await until(() => listNamespaces(installationId()).toSorted().join() === wanted.join())
    // Not READY as it was before the start: a pass was made since.
    const passed = `select from work where kind = 'service' and key = $1 and lease_token is null and due_at > now()`
    await until(async () => (await db?.query(passed, [service.service_id]))?.length)
    await untilReady(at)
    expect(listNamespaces(installationId())).toContain(foreign)
  },
)

/** The interfaces in a VPC that lead to others. */
function linksOf(vpc_id: string): string[] {
  const lines = execFileSync('ip', ['-n', nameOf(vpc_id), '-o', 'link', 'show', 'type', 'veth'], { encoding: 'utf8' })
  return lines.split('\n').filter(Boolean)
}
