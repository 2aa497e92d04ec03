// A provider that dies right before every effect of a snapshot and of the forks that are made of it, and another one after it: the
// end is always one fork with the data of its moment, and nothing of it is left when it is deleted. A sample of the same is killed for real, as
// whole servers, in kill-now.test.ts and kill-pitr.test.ts.
// Each runs undisturbed once to learn its effects. Then a fork is made, and every process that goes on with it dies at every third
// of them, so that each gets somewhere before it dies too; with `npm test -- --all` there are three forks, and a death at each of them.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import type { Moment, WantedService } from '#providers/provider.ts'
import { apply } from '#test/provider/apply.ts'
import { ask, newWanted, noProcessBelow, settle, useWorlds, type World } from '#test/provider/service-fixture.ts'
import { partsOf } from '#test/sample.ts'
import { until } from '#test/until.ts'
import { newParent } from './parent.ts'

const { newWorld } = useWorlds()
const forks = 3
/** Up to 100 providers, on a machine that may be very busy. */
const timeout = 600_000

test('forks of a snapshot that die anywhere have the data, and leave nothing', { timeout }, async () => {
  const world = await newWorld()
  const provider = await world.open()
  const parent = await newParent(provider)
  const effects = await dieEverywhere(world, provider, parent, undefined, '1')
  expect(effects).toEqual(
    expect.arrayContaining(['copy: files', 'snapshot: rename into place', 'fork: rename into place']),
  )
})

test.each(['on', 'off'] as const)(
  'forks NOW that die anywhere have the data, and leave nothing: of a parent whose power is %s',
  { timeout },
  async (power) => {
    const world = await newWorld()
    const provider = await world.open()
    const parent = { ...(await newParent(provider)), power, generation: 2 }
    await settle(provider, parent)
    const effects = await dieEverywhere(world, provider, parent, 'now', '1')
    const copying = power === 'on' ? 'copy: begin backup' : 'lock: rename into place'
    expect(effects).toEqual(expect.arrayContaining([copying, 'copy: files', 'fork: rename into place']))
    expect(readdirSync(join(world.directory, 'services', parent.service_id))).not.toContain('copying')
  },
)

test('forks to a moment that die anywhere have the data of it, and leave nothing', { timeout }, async () => {
  const world = await newWorld()
  const provider = await world.open()
  const parent = { ...(await newParent(provider)), snapshots: [{ snapshot_id: 'kept', deleted: false }] }
  await settle(provider, parent)
  const moment = Date.now() + 1
  await until(() => Date.now() > moment + 1)
  await ask(provider, parent, 'update t set n = 2')
  const effects = await dieEverywhere(world, provider, parent, { at: new Date(moment).toISOString() }, '1')
  expect(effects).toEqual(
    expect.arrayContaining(['gathered WAL: copy', 'postmaster: spawn', 'replay: forget settings']),
  )
})

/** Returns the effects of which each may die. Without a source the fork is one of this moment, of a snapshot of its own. */
async function dieEverywhere(
  world: World,
  provider: LocalProvider,
  parent: WantedService,
  moment: Moment | undefined,
  expected: string,
): Promise<string[]> {
  let forked = 0
  const newFork = async () => {
    const snapshot_id = `now${(forked += 1)}`
    const source = { service_id: parent.service_id, moment: moment ?? { snapshot_id } }
    const child = await newWanted(provider, { size: 'shared', source })
    const own = moment === undefined ? [{ snapshot_id, deleted: false }] : []
    return [{ ...parent, snapshots: [...parent.snapshots, ...own] }, child] as const
  }
  const checkAndRemove = async ([from, child]: readonly [WantedService, WantedService]) => {
    const services = [from, child]
    await apply(world, { services })
    expect(await ask(provider, child, 'select n from t')).toBe(expected)
    const deleted = from.snapshots.filter((one) => !parent.snapshots.includes(one))
    const removal = [
      { ...child, deleted: true },
      { ...parent, snapshots: [...parent.snapshots, ...deleted.map((one) => ({ ...one, deleted: true }))] },
    ]
    await apply(world, { services: removal })
    await noProcessBelow(join(world.directory, 'services', child.service_id))
    expect(readdirSync(join(world.directory, 'services'))).toEqual([parent.service_id])
    expect(unfinishedOf(world, parent)).toEqual([])
  }

  const first = await newFork()
  const learnt = await apply(world, { services: first })
  const effects = [...new Set(learnt.effects)]
  await checkAndRemove(first)
  for (const { some } of partsOf(effects, forks)) {
    let fork = await newFork()
    for (const effect of some) {
      if ((await apply(world, { services: fork }, { effect, nth: 1 })).died) continue
      // An earlier process has done it already: begin anew, once.
      await checkAndRemove(fork)
      fork = await newFork()
      expect((await apply(world, { services: fork }, { effect, nth: 1 })).died, `dies at: ${effect}`).toBe(true)
    }
    await checkAndRemove(fork)
  }
  return effects
}

function unfinishedOf(world: World, { service_id }: WantedService): string[] {
  const home = join(world.directory, 'services', service_id)
  const snapshots = readdirSync(home).includes('snapshots') ? readdirSync(join(home, 'snapshots')) : []
  return [...readdirSync(home), ...snapshots].filter((name) => /\.new$|\.gone$/.test(name))
}
