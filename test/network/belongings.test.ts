// What belongs to a service goes with it into its VPC and out again: replicas, the pooler, replica sets and their poolers.
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { findPrimary } from '#providers/local/postgres/primary.ts'
import { nodeOf } from '#providers/local/host/layout.ts'
import { namespaceOf } from '#providers/local/network/name.ts'
import { ask, loginTo, newWanted, postmasterPid, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { newSet, settleSet } from '#test/replica-set/set-fixture.ts'
import { until } from '#test/until.ts'
import { newEndpoint } from '#test/addresses.ts'
import { askIn, inVpc, newVpc, settleVpc, why_no_networks as why } from './vpc-fixture.ts'

const { newWorld } = useWorlds()

test.skipIf(why)(
  `everything of a service moves with it, fails over inside, and moves while it fails over${why}`,
  async () => {
    const world = await newWorld()
    const provider = await world.open()
    const bare = await newWanted(provider, { size: 'shared' })
    const taken = new Set([bare.home.port])
    const pooler = await newEndpoint(provider, taken)
    const ha = { replica_count: 1, sync_replica_count: 1, switchovers: 0 }
    const home = { ...bare, ha, pooler }
    await settle(provider, home)
    await ask(provider, home, 'create table kept as select 7 as n')
    const own = await newEndpoint(provider, taken)
    const family = { world, provider, service: home }
    const set = await newSet(family, { nodes: 2, home: own, reach: own, pooler: await newEndpoint(provider, taken) })
    await settleSet(provider, set)

    const vpc = newVpc('1000', '10.77.0.0/24')
    await settleVpc(provider, vpc)
    const at = (address: string) => inVpc('1000', address)
    const inside = { ...home, generation: 2, ...at('10.77.0.2'), pooler: at('10.77.0.3').reach }
    const set_pooler = at('10.77.0.5').reach
    const set_inside = { ...set, generation: 2, ...at('10.77.0.4'), pooler: set_pooler, service: inside }
    await settle(provider, inside)
    // A move is no crash: it is not reported as one.
    expect((await settleSet(provider, set_inside)).events).toEqual([])
    for (const address of ['10.77.0.2', '10.77.0.3', '10.77.0.4', '10.77.0.5']) {
      expect(await askIn(world, provider, '1000', at(address), 'select n from kept')).toBe('7')
    }
    for (const reach of [home.reach, pooler, set.reach]) {
      await expect(loginTo(provider, { ...home, reach })).rejects.toThrow(/ECONNREFUSED/)
    }

    process.kill(await postmasterPid(world, home), 'SIGKILL')
    await settle(provider, inside)
    // As it ran, inside the network.
    expect(await findPrimary(nodeOf(world.directory, home.service_id, home.home.port, true))).toMatchObject({
      node: 1,
      relayed: true,
    })
    expect(await askIn(world, provider, '1000', inside, 'select n from kept')).toBe('7')
    await until(() => askIn(world, provider, '1000', at('10.77.0.3'), `insert into kept values (8) returning n`), {
      what: 'the pooler leads to the new primary',
    })

    // All their networks are removed, and made anew.
    execFileSync('ip', ['netns', 'delete', namespaceOf(world, '1000')])
    await settleVpc(provider, vpc)
    await settle(provider, inside)
    await settleSet(provider, set_inside)
    for (const address of ['10.77.0.3', '10.77.0.5']) {
      expect(await askIn(world, provider, '1000', at(address), 'select count(*) from kept where n = 7')).toBe('1')
    }

    await settle(provider, { ...home, generation: 3 })
    await settleSet(provider, { ...set, generation: 3, service: { ...home, generation: 3 } })
    for (const reach of [home.reach, pooler, set.reach]) {
      expect(await ask(provider, { ...home, reach }, 'select n from kept where n = 7')).toBe('7')
    }

    // Attached while no watch has noticed yet that the primary is dead.
    process.kill(await postmasterPid(world, home), 'SIGKILL')
    await settle(provider, { ...inside, generation: 4 })
    expect(await askIn(world, provider, '1000', inside, 'select n from kept where n = 7')).toBe('7')
  },
)
