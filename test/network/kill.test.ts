// A death right before effects of making, peering, attaching, detaching, cutting and deleting: every second in each run, all with
// `npm test -- --all`; at one of each by kill -9. Each verb is carried out by a row of providers, of which each dies further on than the one before; the last one is let live. Then
// everything is as without a kill.
import { execFileSync } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import { listPids } from '#test/data-dir.ts'
import { as_ordinary_user, unprivileged } from '#test/privileges.ts'
import { apply, applyElsewhere, type Doom, type Spec } from '#test/provider/apply.ts'
import { ask, newWanted, settle, useWorlds, type World } from '#test/provider/service-fixture.ts'
import { partsOf, sampleOf } from '#test/sample.ts'
import { askIn, loginIn, newVpc, settleVpc, tracesOf, why_no_networks as why, inVpc } from './vpc-fixture.ts'

const { newWorld } = useWorlds()

const kills_of_each = 1
/** As another user they are real all of them. */
const kills_of_ordinary_user = 2
const parts = 2

const a = newVpc('1000', '10.77.0.0/24')
const b = newVpc('1001', '10.88.0.0/24')
const peered = [newVpc('1000', a.cidr, [b]), newVpc('1001', b.cidr, [a])]
const deleted = [a, b].map((vpc) => ({ ...vpc, deleted: true }))

test.skipIf(why)(`VPCs that are made, peered, cut and deleted by providers that die everywhere${why}`, async () => {
  const world = await newWorld()
  const provider = await world.open()
  const none = { vpcs: deleted, services: [] }
  const apart = { vpcs: [a, b], services: [] }
  const made = await dieEverywhere(world, provider, none, apart)
  expect(made).toEqual(expect.arrayContaining(['host route: add', 'network: make', 'network: furnish']))
  const linked = await dieEverywhere(world, provider, apart, { vpcs: peered, services: [] })
  expect(linked).toEqual(['link: make', 'link: open', 'link: open'])
  for (const vpc of peered) expect((await provider.vpc.apply(vpc)).peers).toHaveLength(1)
  const cut = await dieEverywhere(world, provider, { vpcs: peered, services: [] }, apart)
  expect(cut).toEqual(['link: cut', 'link: end connections', 'link: remove'])
  const removed = await dieEverywhere(world, provider, { vpcs: peered, services: [] }, none)
  expect(removed).toEqual(
    expect.arrayContaining(['link: cut', 'network: empty', 'network: remove', 'host route: remove']),
  )
  expect(tracesOf(world, ['1000', '1001'])).toEqual([])
  await provider.close()
})

test.skipIf(why)(`a service that is attached and detached by providers that die everywhere${why}`, async () => {
  const world = await newWorld()
  const provider = await world.open()
  await settleVpc(provider, a)
  const home = await newWanted(provider, { size: 'shared' })
  const insideAt = (address: string) => ({ ...home, generation: 2, ...inVpc('1000', address) })
  const inside = insideAt('10.77.0.2')
  await settle(provider, home)
  await ask(provider, home, 'create table kept as select 7 as n')
  const outside = { vpcs: [], services: [home] }
  const attached = { vpcs: [], services: [inside] }
  // An address that was used before is there, and its certificate too: the effects are learnt at another one.
  const learnt_at = { vpcs: [], services: [insideAt('10.77.0.3')] }
  expect(await dieEverywhere(world, provider, outside, attached, learnt_at)).toContain('VPC address: add')
  expect(await askIn(world, provider, '1000', inside, 'select n from kept')).toBe('7')
  expect(await dieEverywhere(world, provider, attached, outside)).toContain('postmaster: spawn')
  expect(await ask(provider, home, 'select n from kept')).toBe('7')
  await expect(loginIn(world, provider, '1000', inside)).rejects.toThrow(/ECONNREFUSED/)
  await provider.close()
})

test.skipIf(why)(`networks of an ordinary user that are made by processes that die everywhere${why}`, async () => {
  const world = await newWorld()
  execFileSync('chown', ['-R', `${unprivileged}:${unprivileged}`, world.directory])
  const owners = () => listPids(world.directory)
  const killOwners = () => owners().forEach((pid) => process.kill(pid, 'SIGKILL'))
  onTestFinished(killOwners)
  const spec = { vpcs: peered, services: [] }
  const run = (doom?: Doom) => applyElsewhere(world, spec, doom, as_ordinary_user)
  const all = (await run()).effects
  // What every first start makes, and no later one.
  const effects = all.filter((name) => !name.startsWith('control files'))
  expect(effects.slice(0, 3)).toEqual(['networks owner: spawn', 'networks owner: link', 'network: make'])
  killOwners()
  for (const effect of sampleOf([...new Set(effects)], kills_of_ordinary_user)) {
    expect((await run({ effect, nth: 1 })).died, effect).toBe(true)
  }
  await run()
  expect(owners()).toHaveLength(1)
  expect((await run()).effects).toEqual([])
})

/** From the one to the other: undisturbed once, to learn the effects; back; and then with deaths. */
async function dieEverywhere(
  world: World,
  provider: LocalProvider,
  before: Spec,
  after: Spec,
  learnt_at = after,
): Promise<string[]> {
  const settleAll = async ({ vpcs = [], services = [] }: Spec) => {
    await Promise.all(vpcs.map((vpc) => settleVpc(provider, vpc)))
    for (const service of services) await settle(provider, service)
  }
  await settleAll(before)
  const effects = (await apply(world, learnt_at)).effects
  const dying = partsOf([...effects.entries()], parts)
    .flatMap(({ some }) => some)
    .toSorted(([one], [other]) => one - other)
  const killed = sampleOf(
    dying.map(([at]) => at),
    kills_of_each,
  )
  await settleAll(before)
  let died_at = 0
  for (const [at, effect] of dying) {
    // The one before died at its own effect, which is thus done first; equal ones are counted from there.
    const nth = effects.slice(died_at, at + 1).filter((name) => name === effect).length
    died_at = at
    const { died } = await apply(world, after, { effect, nth }, { really: killed.includes(at) })
    expect(died, effect).toBe(true)
  }
  await settleAll(after)
  return effects
}
