// VPCs as networks of this host: made, found, mended and removed, however many and whatever their ranges. Nothing here
// dials an address: what the host would do with one is asked of its routing table.
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { namespaceOf } from '#providers/local/network/name.ts'
import { useWorlds } from '#test/provider/service-fixture.ts'
import { countOf } from '#test/sample.ts'
import { until } from '#test/until.ts'
import { newVpc, runIn, settleVpc, tracesOf, why_no_networks as why } from './vpc-fixture.ts'

const { newWorld } = useWorlds()

const ip = (...args: string[]) => execFileSync('ip', args, { encoding: 'utf8', stdio: 'pipe' })

test.skipIf(why)(`a VPC has its address and no way out, and goes without a trace${why}`, async () => {
  const world = await newWorld()
  const effects: string[] = []
  const provider = await world.open({ effect: (name) => void effects.push(name) })
  const vpc = newVpc('1000', '10.77.0.0/24')
  await settleVpc(provider, vpc)
  expect(await runIn(world, '1000', ['ip', '-br', 'address', 'show', 'vpc0'])).toContain('10.77.0.1/24')
  expect(await runIn(world, '1000', ['ip', 'route'])).toMatch(/^10\.77\.0\.0\/24 dev vpc0 [^\n]*\n$/)
  expect(await runIn(world, '1000', ['ip', '-6', 'address', 'show', 'scope', 'link'])).toBe('')
  expect(() => ip('route', 'get', '10.77.0.9')).toThrow(/unreachable|No route to host/)
  effects.length = 0
  await settleVpc(provider, vpc)
  expect(effects).toEqual([])
  expect(await provider.vpc.list()).toEqual([{ id: '1000', down: false }])
  await settleVpc(provider, { ...vpc, deleted: true })
  expect(tracesOf(world, ['1000'])).toEqual([])
  effects.length = 0
  await settleVpc(provider, { ...vpc, deleted: true })
  expect(effects).toEqual([])
  await provider.close()
})

test.skipIf(why)(
  `VPCs with the same range do not know of each other, and neither goes with the other${why}`,
  async () => {
    const world = await newWorld()
    const provider = await world.open()
    const [one, other] = [newVpc('1000', '10.77.0.0/24'), newVpc('1001', '10.77.0.0/24')]
    await settleVpc(provider, one)
    await settleVpc(provider, other)
    await settleVpc(provider, { ...one, deleted: true })
    expect(await runIn(world, '1001', ['ip', '-br', 'address', 'show', 'vpc0'])).toContain('10.77.0.1/24')
    expect(() => ip('route', 'get', '10.77.0.9')).toThrow(/unreachable|No route to host/)
    await settleVpc(provider, { ...other, deleted: true })
    expect(tracesOf(world, ['1000', '1001'])).toEqual([])
    await provider.close()
  },
)

test.skipIf(why)(`another installation on the same host keeps its networks${why}`, async () => {
  const [world, neighbour] = [await newWorld(), await newWorld()]
  const [provider, theirs] = [await world.open(), await neighbour.open()]
  const vpc = newVpc('1000', '10.77.0.0/24')
  await settleVpc(theirs, vpc)
  await settleVpc(provider, vpc)
  await provider.stopAll()
  expect(tracesOf(world, ['1000'])).toEqual([])
  expect(tracesOf(neighbour, ['1000'])).toHaveLength(2)
  expect(await provider.vpc.list()).toEqual([])
  await provider.close()
  await theirs.close()
})

test.skipIf(why)(`a part that is removed by hand is noticed and made again${why}`, async () => {
  const world = await newWorld()
  const provider = await world.open()
  const changed: string[] = []
  provider.watch((kind, id) => kind === 'vpc' && changed.push(id))
  const vpc = newVpc('1000', '10.77.0.0/24')
  await settleVpc(provider, vpc)
  const namespace = namespaceOf(world, '1000')
  ip('netns', 'delete', namespace)
  await until(() => changed.includes('1000'), { what: 'the vanished network is noticed' })
  await settleVpc(provider, vpc)
  ip('-n', namespace, 'link', 'delete', 'vpc0')
  ip('-n', namespace, 'rule', 'delete', 'priority', '10')
  await settleVpc(provider, vpc)
  expect(await runIn(world, '1000', ['ip', '-br', 'address', 'show', 'vpc0'])).toContain('10.77.0.1/24')
  expect(await runIn(world, '1000', ['ip', 'rule'])).toContain('unreachable')
  // What is left when the maker of a namespace dies in the middle: a file that is none.
  ip('netns', 'delete', namespace)
  execFileSync('touch', [`/run/netns/${namespace}`])
  await settleVpc(provider, vpc)
  expect(statSync(`/run/netns/${namespace}`).dev).toBe(statSync('/proc/self/ns/net').dev)
  await provider.close()
})

test.skipIf(why)(`a full mesh of VPCs${why}`, async () => {
  const world = await newWorld()
  const provider = await world.open()
  const count = countOf(10, 5)
  const vpcs = Array.from({ length: count }, (_, at) => newVpc(String(1000 + at), `10.${100 + at}.0.0/16`))
  const meshed = vpcs.map((vpc) =>
    newVpc(
      vpc.vpc_id,
      vpc.cidr,
      vpcs.filter((each) => each !== vpc),
    ),
  )
  // All sides at once: each finds what the other has made, or makes it.
  const observed = await Promise.all(meshed.map((vpc) => settleVpc(provider, vpc)))
  for (const { peers } of observed) expect(peers).toHaveLength(count - 1)
  for (const vpc of meshed) {
    expect((await runIn(world, vpc.vpc_id, ['ip', 'route'])).trim().split('\n')).toHaveLength(count)
  }
  await Promise.all(vpcs.map((vpc) => settleVpc(provider, { ...vpc, deleted: true })))
  const left = tracesOf(
    world,
    vpcs.map(({ vpc_id }) => vpc_id),
  )
  expect(left).toEqual([])
  await provider.close()
})
