// A provider that dies right before the effects of every verb, a sample of them in each run, and another one after it: the end is
// always the one of an undisturbed run, and nothing is orphaned. Each verb runs undisturbed once to learn its effects. An effect is named by its
// name and its how-manieth, because effects of independent steps may change places between two runs.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import type { WantedService } from '#providers/provider.ts'
import { sampleOf } from '#test/sample.ts'
import { apply } from './apply.ts'
import { ask, newWanted, processesBelow, settle, useWorlds, type World } from './service-fixture.ts'

const { newWorld } = useWorlds()
const rounds_of_each = 6
/** Some 100 providers, on a machine that may be very busy. */
const timeout = 900_000

/** What is done only when processes end, or archive, at a certain moment; another run may not meet it. */
const by_chance =
  /^(leftover processes|stale pid file|stale socket lock|archive: give back|archived WAL|snapshot|copy|lock|spare|template)/

type Verb = {
  what: string
  change: (wanted: WantedService) => Partial<WantedService>
  check: (world: World, provider: LocalProvider, wanted: WantedService) => Promise<void>
}

const serves: Verb['check'] = async (world, provider, wanted) => {
  const memory_gbs = wanted.size === 'shared' ? 0 : wanted.size.memory_gbs
  expect(await ask(provider, wanted, 'show shared_buffers')).toBe(memory_gbs === 2 ? '512MB' : '1GB')
  await ask(provider, wanted, 'create table if not exists kept as select 7 as n')
  expect(await ask(provider, wanted, 'select n from kept')).toBe('7')
  expect(unfinishedOf(world)).toEqual([])
}

const verbs: readonly Verb[] = [
  {
    what: 'resize',
    change: ({ size }) => ({
      size:
        size !== 'shared' && size.memory_gbs === 2
          ? { cpu_millis: 1000, memory_gbs: 4 }
          : { cpu_millis: 500, memory_gbs: 2 },
    }),
    check: serves,
  },
  {
    what: 'stop',
    change: () => ({ power: 'off' }),
    check: async (world) => expect(await processesBelow(join(world.directory, 'services'))).toEqual([]),
  },
  { what: 'start', change: () => ({ power: 'on' }), check: serves },
]

test('resize, stop and start that die anywhere end as if they had not, with the data', { timeout }, async () => {
  const world = await newWorld()
  let wanted = await newWanted(await world.open())
  await dieAtEveryEffect(world, wanted, verbs)
})

test(
  'a create that dies anywhere ends with a service that serves, and a delete leaves nothing',
  { timeout },
  async () => {
    const world = await newWorld()
    const create: Verb = { what: 'create', change: () => ({ deleted: false }), check: serves }
    const remove: Verb = {
      what: 'delete',
      change: () => ({ deleted: true }),
      check: async () => {
        expect(readdirSync(join(world.directory, 'services'))).toEqual([])
        expect(readdirSync(join(world.directory, 'run'))).toEqual([])
        expect(await processesBelow(join(world.directory, 'services'))).toEqual([])
      },
    }
    await dieAtEveryEffect(world, { ...(await newWanted(await world.open())), deleted: true }, [create, remove])
  },
)

/** The verbs follow each other, and the first one can follow the last: a round lets each of them die at its next effect. */
async function dieAtEveryEffect(world: World, first: WantedService, verbs: readonly Verb[]): Promise<void> {
  const learnt: string[][] = []
  let wanted = first
  const next = ({ change }: Verb) => {
    wanted = { ...wanted, ...change(wanted), generation: wanted.generation + 1 }
  }
  await settleAnew(world, wanted)
  for (const verb of verbs) {
    next(verb)
    learnt.push((await apply(world, { services: [wanted] })).effects)
    const provider = await settleAnew(world, wanted)
    await verb.check(world, provider, wanted)
    await provider.close()
  }
  expect(learnt.every((effects) => effects.length > 0)).toBe(true)
  const longest = Array.from({ length: Math.max(...learnt.map((effects) => effects.length)) }, (_, at) => at)
  for (const round of sampleOf(longest, rounds_of_each)) {
    for (const [at, verb] of verbs.entries()) {
      next(verb)
      await dieAndGoOn(world, verb, wanted, learnt[at] ?? [], round)
    }
  }
}

/** Undisturbed where there is no such effect any more. */
async function dieAndGoOn(world: World, verb: Verb, wanted: WantedService, effects: readonly string[], at: number) {
  const effect = effects[at]
  const nth = effects.slice(0, at + 1).filter((name) => name === effect).length
  if (effect !== undefined) {
    const { died } = await apply(world, { services: [wanted] }, { effect, nth })
    if (!died) expect(effect, verb.what).toMatch(by_chance)
  }
  const provider = await settleAnew(world, wanted)
  await verb.check(world, provider, wanted).catch((error: unknown) => {
    throw new Error(`${verb.what} after a death at: ${effect} (${nth})`, { cause: error })
  })
  await provider.close()
}

async function settleAnew(world: World, wanted: WantedService): Promise<LocalProvider> {
  const provider = await world.open()
  await settle(provider, wanted)
  return provider
}

function unfinishedOf(world: World): string[] {
  const services = join(world.directory, 'services')
  return readdirSync(services).flatMap((name) =>
    readdirSync(join(services, name)).filter((entry) => /^data\.new$|\.gone$/.test(entry)),
  )
}
