// A provider that dies right before effects of every verb of a service, and another one after it: the end is always the one of an
// undisturbed run, and nothing is orphaned. Every third effect in each run, all with `npm test -- --all`. Each verb runs undisturbed once to
// learn its effects. An effect is named by its name and its how-manieth, because effects of independent steps may change places between
// two runs.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import type { WantedService } from '#providers/provider.ts'
import { partsOf } from '#test/sample.ts'
import { apply } from './apply.ts'
import { loginTo, newWanted, processesBelow, settle, useWorlds, type World } from './service-fixture.ts'
import { verifierOf } from './wanted.ts'

const { newWorld } = useWorlds()
/** Up to 150 providers, on a machine that may be very busy. */
const timeout = 900_000
const parts = 3

/** What is done only when processes end, or archive, at a certain moment; another run may not meet it. */
const by_chance =
  /^(leftover processes|stale pid file|stale socket lock|archive: give back|archived WAL|snapshot|copy|lock|spare|template)/

type Verb = {
  what: string
  change: (wanted: WantedService) => Partial<WantedService>
  check: (world: World, provider: LocalProvider, wanted: WantedService) => Promise<void>
}

const passwords = new Map(['first password', 'second password'].map((word) => [verifierOf(word), word]))

const serves: Verb['check'] = async (world, provider, wanted) => {
  const memory_gbs = wanted.size === 'shared' ? 0 : wanted.size.memory_gbs
  const login = await loginTo(provider, wanted, { password: passwords.get(wanted.password_verifier) ?? '' })
  try {
    await login.query('create table if not exists kept as select 7 as n')
    const { rows } = await login.query(`select n, current_setting('shared_buffers') as buffers from kept`)
    expect(rows).toEqual([{ n: 7, buffers: memory_gbs === 2 ? '512MB' : '1GB' }])
  } finally {
    await login.end()
  }
  expect(unfinishedOf(world)).toEqual([])
}

const create: Verb = { what: 'create', change: () => ({ deleted: false }), check: serves }

const remove: Verb = {
  what: 'delete',
  change: () => ({ deleted: true }),
  check: async ({ directory }) => {
    expect(readdirSync(join(directory, 'services'))).toEqual([])
    expect(readdirSync(join(directory, 'run'))).toEqual([])
    expect(await processesBelow(join(directory, 'services'))).toEqual([])
  },
}

const resize: Verb = {
  what: 'resize',
  change: ({ size }) => ({
    size:
      size !== 'shared' && size.memory_gbs === 2
        ? { cpu_millis: 1000, memory_gbs: 4 }
        : { cpu_millis: 500, memory_gbs: 2 },
  }),
  check: serves,
}

const change_roles: Verb = {
  what: 'another password, and a copy in another region that comes or goes',
  change: (wanted) => ({
    password_verifier: [...passwords.keys()].find((one) => one !== wanted.password_verifier) ?? '',
    copies: wanted.copies?.length ? [] : [{ copy_id: 'fork000000', password_verifier: verifierOf('of the copy') }],
  }),
  check: async (world, provider, wanted) => {
    await serves(world, provider, wanted)
    const login = await loginTo(provider, wanted, { password: passwords.get(wanted.password_verifier) ?? '' })
    const { rows } = await login.query(
      `select from pg_roles where rolname = 'howdah_copy_fork000000' and rolreplication`,
    )
    await login.end()
    expect(rows.length).toBe(wanted.copies?.length)
  },
}

const stop: Verb = {
  what: 'stop',
  change: () => ({ power: 'off' }),
  check: async (world) => expect(await processesBelow(join(world.directory, 'services'))).toEqual([]),
}

const start: Verb = { what: 'start', change: () => ({ power: 'on' }), check: serves }

test(
  'resize, stop, start and a new password that die anywhere end as if they had not, with the data',
  { timeout },
  async () => {
    const { world, wanted } = await newSubject()
    let last = await dieAtEveryEffect(world, wanted, [resize])
    last = await dieAtEveryEffect(world, last, [change_roles])
    await dieAtEveryEffect(world, last, [stop, start])
  },
)

test(
  'a create that dies anywhere ends with a service that serves, and a delete leaves nothing',
  { timeout },
  async () => {
    const { world, wanted } = await newSubject()
    await dieAtEveryEffect(world, { ...wanted, deleted: true }, [create, remove])
  },
)

async function newSubject(): Promise<{ world: World; wanted: WantedService }> {
  const world = await newWorld()
  const provider = await world.open()
  await provider.close()
  const [password_verifier = ''] = passwords.keys()
  return { world, wanted: await newWanted(provider, { password_verifier }) }
}

/**
 * The verbs follow each other, and the first one can follow the last: a round lets each of them die at its next effect, until each has died
 * at all that this run has. Returns what is wanted in the end.
 */
async function dieAtEveryEffect(world: World, first: WantedService, verbs: readonly Verb[]): Promise<WantedService> {
  const learnt: string[][] = []
  let wanted = first
  const next = ({ change }: Verb) => {
    wanted = { ...wanted, ...change(wanted), generation: wanted.generation + 1 }
  }
  await apply(world, { services: [wanted] })
  for (const verb of verbs) {
    next(verb)
    learnt.push((await apply(world, { services: [wanted] })).effects)
    await settleAnew(world, verb, wanted)
  }
  expect(learnt.every((effects) => effects.length > 0)).toBe(true)
  const effects_max = Math.max(...learnt.map((effects) => effects.length))
  for (const round of partsOf([...Array(effects_max).keys()], parts).flatMap(({ some }) => some)) {
    for (const [at, verb] of verbs.entries()) {
      next(verb)
      await dieAndGoOn(world, verb, wanted, learnt[at] ?? [], round)
    }
  }
  return wanted
}

/** Undisturbed where there is no such effect any more. */
async function dieAndGoOn(world: World, verb: Verb, wanted: WantedService, effects: readonly string[], at: number) {
  const effect = effects[at]
  const nth = effects.slice(0, at + 1).filter((name) => name === effect).length
  if (effect !== undefined) {
    const { died } = await apply(world, { services: [wanted] }, { effect, nth })
    if (!died) expect(effect, verb.what).toMatch(by_chance)
  }
  await settleAnew(world, verb, wanted).catch((error: unknown) => {
    throw new Error(`${verb.what} after a death at: ${effect} (${nth})`, { cause: error })
  })
}

async function settleAnew(world: World, verb: Verb, wanted: WantedService): Promise<void> {
  const provider = await world.open()
  await settle(provider, wanted)
  await verb.check(world, provider, wanted)
  await provider.close()
}

function unfinishedOf(world: World): string[] {
  const services = join(world.directory, 'services')
  return readdirSync(services).flatMap((name) =>
    readdirSync(join(services, name)).filter((entry) => /^data\.new$|\.gone$/.test(entry)),
  )
}
