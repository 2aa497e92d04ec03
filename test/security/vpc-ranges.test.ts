// A tenant chooses the range of a VPC, and as root the server bars the host's own way to it. Here a tenant tries to cut the host
// off its name server, next hop, metadata store and issuer by that, or to get a route of its choice into the host's table.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { FaultBody } from '#contract/fault.ts'
import type { Vpc } from '#contract/vpc.ts'
import { openInstallation } from '#server/installation.ts'
import { readHostUse, vpcRefusal } from '#providers/local/vpc/ranges.ts'
import { metricOf } from '#providers/local/network/name.ts'
import { startInstallation } from '#test/installation.ts'
import { listBarriers, listNamespaces } from '#test/networks.ts'
import { newVpc, runIn, settleVpc, tracesOf, why_no_networks as why } from '#test/network/vpc-fixture.ts'
import { useWorlds } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'

const { newWorld } = useWorlds()
// None that a network at home or in an office is likely to have, should the wall ever fall.
const outside = ['10.3.0.0/16', '10.63.255.0/24', '10.128.0.0/28', '172.29.7.0/24', '192.168.231.0/28']
const can_make_hosts = spawnSync('unshare', ['--mount', '--net', 'true']).status === 0
const why_no_hosts = can_make_hosts ? '' : ' (skipped: it takes a root that may mount)'

test('a VPC over addresses that the host reaches by its default route is refused with the ranges that there are', async () => {
  const howdah = await startInstallation()
  onTestFinished(() => howdah.stop())
  const vpcs = `/projects/${howdah.project_id}/vpcs`
  for (const cidr of outside) {
    const answer = await howdah.call<FaultBody>('POST', vpcs, { cidr, name: 'x', region_code: 'local' })
    expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_REQUEST'])
    expect(answer.body.details).toContain(`/cidr: the range ${cidr} is outside`)
    expect(answer.body.details).toContain('10.64.0.0/10')
  }
  expect((await howdah.call<Vpc[]>('GET', vpcs)).body).toEqual([])
  expect(listBarriers((await openInstallation(howdah.config.data_dir)).installation_id)).toEqual([])
})

test('a range that the host uses itself is refused by name, also in part', async () => {
  const everything = { vpc_ranges: ['0.0.0.0/0'], needed_addresses: ['198.51.100.7'] }
  expect(vpcRefusal(everything, await readHostUse(), '127.0.0.0/16')).toMatch(
    /127\.0\.0\.0\/16 overlaps 127\.0\.0\.\d.* at lo.*choose another range/,
  )
  expect(vpcRefusal(everything, await readHostUse(), '198.51.100.0/28')).toContain(
    'overlaps 198.51.100.7, which the host',
  )
  // Reserved for documentation: no host has it.
  expect(vpcRefusal(everything, await readHostUse(), '203.0.113.0/28')).toBeUndefined()
})

test.skipIf(why_no_hosts)(`inside the list, what the host and its server need is still refused${why_no_hosts}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-test-host-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'resolv.conf'), '# here\nnameserver fd00::1\n nameserver 10.90.0.53\nsearch example\n')
  // A host in a network of its own, with an address, a network behind a router, and a next hop that no route leads to.
  const host = [
    `mount --bind ${folder}/resolv.conf /etc/resolv.conf`,
    'ip link set lo up && ip link add own type bridge && ip link set own up',
    'ip address add 10.70.1.2/24 dev own',
    'ip route add 10.80.0.0/16 via 10.70.1.1',
    'ip route add default via 10.85.0.1 dev own onlink',
    'exec "$@"',
  ].join(' && ')
  const asked = {
    '10.70.0.0/16': 'overlaps 10.70.1.',
    '10.70.1.0/28': 'overlaps 10.70.1.',
    '10.80.7.0/24': 'overlaps 10.80.0.0/16 at own',
    '10.85.0.0/24': 'overlaps 10.85.0.1',
    '10.90.0.0/16': 'overlaps 10.90.0.53',
    '10.99.0.0/28': 'overlaps 10.99.0.5',
    '10.71.0.0/16': 'given',
    '10.99.0.16/28': 'given',
  }
  const main = join(import.meta.dirname, 'vpc-ranges-main.ts')
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', main, ...Object.keys(asked)]
  const words = ['--mount', '--net', '--', 'sh', '-ec', host, 'sh', ...node]
  const answers: unknown = JSON.parse(execFileSync('unshare', words, { encoding: 'utf8' }))
  expect(answers).toEqual(Object.values(asked).map((part) => expect.stringContaining(part)))
})

test.skipIf(why)(
  `a range that passed the API nevertheless never gets into the host’s routing table${why}`,
  async () => {
    const world = await newWorld()
    const provider = await world.open({ vpc_ranges: ['10.64.0.0/10'], needed_addresses: ['10.99.0.5'] })
    const [strange, needed] = [newVpc('1000', '10.255.254.0/24'), newVpc('1001', '10.99.0.0/24')]
    // As a former version has left it.
    const route = ['unreachable', strange.cidr, 'proto', '172', 'metric', String(metricOf(world, '1000'))]
    execFileSync('ip', ['route', 'add', ...route])
    onTestFinished(() => void spawnSync('ip', ['route', 'delete', ...route]))
    const observed = await settleVpc(provider, strange)
    expect(observed.waiting_for).toMatch(/the network is kept.*--vpc-ranges 10\.64\.0\.0\/10,10\.255\.254\.0\/24$/)
    expect((await settleVpc(provider, needed)).waiting_for).toContain('overlaps 10.99.0.5')
    const routes = tracesOf(world, ['1000', '1001']).filter((trace) => trace.includes('unreachable'))
    expect(routes).toEqual([])
    // Who is inside notices nothing.
    expect(await runIn(world, '1000', ['ip', '-br', 'address', 'show', 'vpc0'])).toContain('10.255.254.1/24')
    await settleVpc(provider, { ...strange, deleted: true })
    await settleVpc(provider, { ...needed, deleted: true })
    expect(tracesOf(world, ['1000', '1001'])).toEqual([])
    await provider.close()
  },
)

test.skipIf(why)(
  `VPCs outside the list after an upgrade are kept, and the start says which flag they need${why}`,
  async () => {
    const cidr = '10.254.253.0/24'
    const howdah = await startInstallation({ config: { vpc_ranges: ['10.64.0.0/10', cidr] } })
    onTestFinished(() => howdah.stop())
    expect(howdah.server.warnings).toEqual([])
    const input = { cidr, name: 'x', region_code: 'local' }
    const { body: vpc } = await howdah.call<Vpc>('POST', `/projects/${howdah.project_id}/vpcs`, input)
    const { installation_id } = await openInstallation(howdah.config.data_dir)
    await until(() => listBarriers(installation_id).length === 1, { what: 'the range of the list is barred' })
    howdah.config.vpc_ranges = ['10.64.0.0/10']
    await howdah.restart()
    expect(howdah.server.warnings).toEqual([expect.stringContaining(`${vpc.id} (${cidr})`)])
    expect(howdah.server.warnings[0]).toContain(`--vpc-ranges 10.64.0.0/10,${cidr}`)
    await until(() => listBarriers(installation_id).length === 0, { what: 'no route outside the list stays' })
    expect(listNamespaces(installation_id)).toHaveLength(1)
  },
)
