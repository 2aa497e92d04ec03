// The process that makes or removes replicas dies right before every effect of it, at one of them by kill -9, and another one goes on:
// the end is always the one of an undisturbed run, the primary serves all the time, and nothing is orphaned.
// A change runs undisturbed once to learn its effects. Then it is begun again, and every process that goes on with it dies at every
// third of them, so that each gets somewhere before it dies too; with `npm test -- --all` three times, at each of them.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import type { WantedService } from '#providers/provider.ts'
import { apply } from '#test/provider/apply.ts'
import { ask, newWanted, settle, useWorlds, type World } from '#test/provider/service-fixture.ts'
import { homeOf, standbysOf, withReplicas } from '#test/provider/standby-fixture.ts'
import { partsOf, sampleOf } from '#test/sample.ts'

const { newWorld } = useWorlds()
const rounds = 3
const kills_of_each = 1
/** What is done only when processes end or begin late, or were told something since their start; another run may not meet it. */
const by_chance =
  /^(leftover processes: kill|stale pid file: remove|stale socket lock: remove|reload marker: remove|sign of not streaming: .*)$/
/** Up to 50 providers, on a machine that may be very busy. */
const timeout = 600_000

test('replicas that are added and removed are so in the end, whoever is killed meanwhile', { timeout }, async () => {
  const world = await newWorld()
  const provider = await world.open()
  const alone = withReplicas(await newWanted(provider, { size: 'shared' }), 1, 0, 0)
  await settle(provider, alone)
  await ask(provider, alone, 'create table t as select 7 as n')
  const one = withReplicas(alone, 2, 1, 1)

  const [adding, removing] = [await effectsOf(world, one), await effectsOf(world, alone)]
  expect(adding).toEqual(expect.arrayContaining(['copy: files', 'standby: rename into place', 'postmaster: SIGHUP']))
  expect(removing).toEqual(expect.arrayContaining(['replication slot: remove', 'removed node: remove']))
  for (const { part } of partsOf(adding, rounds)) {
    const chosen = (effects: readonly string[]) => effects.filter((_, index) => index % rounds === part)
    await dieAtEach(world, alone, one, chosen(adding))
    await expectInOrder(world, provider, one, ['node-1'], { node_1: 'streaming' })
    await dieAtEach(world, one, alone, chosen(removing))
    await expectInOrder(world, provider, alone, [], {})
  }
})

test('a resize of a service with replicas is made in the end, whoever is killed meanwhile', { timeout }, async () => {
  const world = await newWorld()
  const provider = await world.open()
  const small = withReplicas(await newWanted(provider, { size: 'shared' }), 1, 1, 1)
  await settle(provider, small)
  await ask(provider, small, 'create table t as select 7 as n')
  const large: WantedService = { ...small, generation: 2, size: { cpu_millis: 500, memory_gbs: 2 } }
  const effects = await effectsOf(world, large)
  expect(effects).toEqual(expect.arrayContaining(['settings: rename into place', 'postmaster: SIGINT']))
  await apply(world, { services: [small] })
  for (const { some } of partsOf(effects, rounds)) await dieAtEach(world, small, large, some)
  await expectInOrder(world, provider, large, ['node-1'], { node_1: 'streaming' })
  expect(await ask(provider, large, 'show max_connections')).toBe('100')
  for (const node of [0, 1]) {
    expect(await readFile(join(homeOf(world, large), node === 0 ? '' : 'node-1', 'howdah.conf'), 'utf8')).toContain(
      `max_connections = '100'`,
    )
  }
})

/** Each once, without those that only a service to come has need of. */
async function effectsOf(world: World, wanted: WantedService): Promise<string[]> {
  const { effects } = await apply(world, { services: [wanted] })
  return [...new Set(effects)].filter((name) => !name.includes('spare'))
}

/** From one state to the other. Whoever comes to the end without meeting the effect begins anew from the first one. */
async function dieAtEach(world: World, from: WantedService, to: WantedService, effects: readonly string[]) {
  const killed = sampleOf(effects, kills_of_each)
  for (const effect of effects) {
    const dies = async () => {
      const { died } = await apply(world, { services: [to] }, { effect, nth: 1 }, { really: killed.includes(effect) })
      return died
    }
    if (await dies()) continue
    await apply(world, { services: [from] })
    expect((await dies()) || by_chance.test(effect), `died at: ${effect}`).toBe(true)
  }
}

async function expectInOrder(
  world: World,
  provider: LocalProvider,
  wanted: WantedService,
  folders: readonly string[],
  standbys: Readonly<Record<string, string>>,
): Promise<void> {
  expect((await settle(provider, wanted)).state).toBe('serving')
  expect(await standbysOf(provider, wanted)).toEqual(standbys)
  const names = Object.keys(standbys)
  const list = names.length === 0 ? '' : `ANY 1 (node_0, ${names.join(', ')})`
  expect(await ask(provider, wanted, 'show synchronous_standby_names')).toBe(list)
  expect(await ask(provider, wanted, 'select count(*) from pg_replication_slots')).toBe(String(names.length))
  expect(await ask(provider, wanted, 'select n from t')).toBe('7')
  const home = await readdir(homeOf(world, wanted))
  expect(home.filter((name) => /^node|\.new$|\.gone$/.test(name))).toEqual(folders)
  for (const folder of folders) {
    // A sign that is written aside and needed no more is overwritten by the next one.
    const unfinished = /(?<!^not-streaming)\.new$|\.gone$/
    expect((await readdir(join(homeOf(world, wanted), folder))).filter((name) => unfinished.test(name))).toEqual([])
  }
}
