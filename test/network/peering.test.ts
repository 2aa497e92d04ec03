// Peering: two VPCs reach each other and no third network through them, until it is deleted, which counts at once.
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import { namespaceOf } from '#providers/local/network/name.ts'
import { newWanted, settle, useWorlds, type World } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'
import { askIn, loginIn, newVpc, runIn, settleVpc, why_no_networks as why, inVpc } from './vpc-fixture.ts'

const { newWorld } = useWorlds()

const a = newVpc('1000', '10.77.0.0/24')
const b = newVpc('1001', '10.88.0.0/24')
const c = newVpc('1002', '10.99.0.0/24')
const a_with_b = newVpc('1000', a.cidr, [b])
const b_with_a = newVpc('1001', b.cidr, [a])

/** A service in VPC a, which is peered with b, which is peered with c. */
async function newChain(): Promise<{
  world: World
  provider: LocalProvider
  service: Awaited<ReturnType<typeof newWanted>>
}> {
  const world = await newWorld()
  const provider = await world.open()
  for (const vpc of [a, b, c]) await settleVpc(provider, vpc)
  const service = await newWanted(provider, { size: 'shared', ...inVpc('1000', '10.77.0.2') })
  await settle(provider, service)
  return { world, provider, service }
}

test.skipIf(why)(
  `a peer reaches a service, a peer's peer does not, and a cut ends what is open at once${why}`,
  async () => {
    const { world, provider, service } = await newChain()
    await expect(loginIn(world, provider, '1001', service)).rejects.toThrow(/ENETUNREACH/)
    // Namespaces inherit these from the host, and there are hosts that are so strict.
    const strict = 'for name in arp_ignore arp_filter rp_filter; do echo 1 > /proc/sys/net/ipv4/conf/all/$name; done'
    for (const vpc of [a, b, c]) await runIn(world, vpc.vpc_id, ['sh', '-c', strict])
    // One side is enough to make the link, and the other finds it.
    const { peers } = await settleVpc(provider, a_with_b)
    expect(peers).toEqual([{ peering_id: '10001001', provisioned_id: `${namespaceOf(world, '1000')}/v1001` }])
    expect((await settleVpc(provider, newVpc('1001', b.cidr, [a, c]))).peers).toHaveLength(2)
    expect(await askIn(world, provider, '1001', service, 'select inet_client_addr()')).toBe('10.88.0.1')

    // Not even when an administrator lets the VPC in the middle forward, and gives the others a route: only without our rule.
    await runIn(world, '1001', ['sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward'])
    await runIn(world, '1002', ['ip', 'route', 'add', a.cidr, 'via', '10.88.0.1', 'dev', 'v1001', 'onlink'])
    await runIn(world, '1000', ['ip', 'route', 'add', c.cidr, 'via', '10.88.0.1', 'dev', 'v1001', 'onlink'])
    await runIn(world, '1001', ['ip', 'rule', 'delete', 'priority', '10'])
    expect(await askIn(world, provider, '1002', service, 'select 1')).toBe('1')
    await settleVpc(provider, newVpc('1001', b.cidr, [a, c]))
    await expect(loginIn(world, provider, '1002', service)).rejects.toThrow(/ENETUNREACH/)

    const session = await loginIn(world, provider, '1001', service)
    expect(await session.ask('select 1')).toBe('1')
    await settleVpc(provider, a)
    expect(await session.broken).toMatch(/ECONNABORTED|ECONNRESET|terminated unexpectedly/)
    await expect(loginIn(world, provider, '1001', service)).rejects.toThrow(/ENETUNREACH/)
    // The server's side of it knows at once, too; its process takes a moment to end.
    const others = `select count(*) from pg_stat_activity where client_addr <> '10.77.0.2'`
    await until(async () => (await askIn(world, provider, '1000', service, others)) === '0', {
      what: 'no session of the former peer is left',
    })
    await provider.close()
  },
)

test.skipIf(why)(`a peer whose network was removed by hand is linked again${why}`, async () => {
  const { world, provider, service } = await newChain()
  await settleVpc(provider, a_with_b)
  await settleVpc(provider, b_with_a)
  // A program inside keeps the old namespace, and the old end of the link, alive.
  const inside = await loginIn(world, provider, '1001', service)
  execFileSync('ip', ['netns', 'delete', namespaceOf(world, '1001')])
  expect(await provider.vpc.apply(a_with_b)).toMatchObject({ settled: false, peers: [] })
  await settleVpc(provider, b_with_a)
  await settleVpc(provider, a_with_b)
  inside.end()
  expect(await askIn(world, provider, '1001', service, 'select 1')).toBe('1')
  await provider.close()
})

test.skipIf(why)(`peers whose ranges overlap are not linked, and it is said which${why}`, async () => {
  const world = await newWorld()
  const provider = await world.open()
  const twin = newVpc('1003', '10.88.0.0/25')
  for (const vpc of [a, b, twin]) await settleVpc(provider, vpc)
  const observed = await provider.vpc.apply(newVpc('1000', a.cidr, [b, twin]))
  expect(observed.settled).toBe(false)
  expect(observed.waiting_for).toContain('10.88.0.0/25 of VPC 1003 overlaps 10.88.0.0/24 of VPC 1001')
  expect(observed.peers).toHaveLength(1)
  await provider.close()
})
