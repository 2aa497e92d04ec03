// A provider that dies right before every third effect of a rewind in each run, and of all with `npm test -- --all`, and another one after
// it: the service has the data of the moment, whole, and nothing else is left. After each death the service has data of before or of
// after, or one file says that it is moving. A sample is killed for real. The first rewind runs undisturbed to learn the effects.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { WantedService } from '#providers/provider.ts'
import { apply } from '#test/provider/apply.ts'
import { ask, newWanted, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { partsOf, sampleOf } from '#test/sample.ts'
import { momentNow } from '#test/until.ts'
import { rewound, takenAt } from './rewinding.ts'

const { newWorld } = useWorlds()
const rounds = 3
const really_killed = 1
/** Up to 60 providers, on a machine that may be very busy. */
const timeout = 600_000

/** What every other pass does too is killed in test/provider/every-effect.test.ts. */
const of_a_rewind =
  /^(exchange|prepared data|data before|replay|gathered WAL|fork|postmaster|snapshot: rename|copy: files|synchronous)/

test('a rewind that dies anywhere is done whole by the next one, and leaves nothing', { timeout }, async () => {
  const world = await newWorld()
  const provider = await world.open()
  const first = { snapshot_id: 'first', deleted: false }
  const wanted = await newWanted(provider, { size: 'shared', snapshots: [first] })
  await settle(provider, wanted)
  await ask(provider, wanted, 'create table t (n int)')
  await takenAt(provider, wanted, 'first')
  const moments: [rows: string, at: Date][] = []
  for (const n of [1, 2]) {
    await ask(provider, wanted, `insert into t values (${n})`)
    moments.push([n === 1 ? '1' : '1,2', await momentNow()])
  }
  await ask(provider, wanted, 'insert into t values (3)')

  let generation = 1
  const next = () => {
    const [rows, at] = moments[generation % 2] ?? ['', new Date()]
    generation += 1
    return { rows, to: { ...rewound({ ...wanted, snapshots: [first] }, at, `before-${generation}`), generation } }
  }
  const home = join(world.directory, 'services', wanted.service_id)
  const isWhole = () => {
    const moving = existsSync(join(home, 'exchange.json')) && readFileSync(join(home, 'exchange.json'), 'utf8')
    return existsSync(join(home, 'data', 'PG_VERSION')) || (moving && moving.includes('"moving"'))
  }
  const check = async ({ rows, to }: { rows: string; to: WantedService }) => {
    await apply(world, { services: [to] })
    await takenAt(provider, to, `before-${to.generation}`)
    expect(await ask(provider, to, 'select array_agg(n order by n) from t')).toBe(rows)
    expect(readdirSync(home).filter((name) => /prepared|before|gone|\.new$/.test(name))).toEqual([])
  }

  let rewind = next()
  const learnt = await apply(world, { services: [rewind.to] })
  const effects = [...new Set(learnt.effects)].filter((name) => of_a_rewind.test(name))
  expect(effects).toEqual(
    expect.arrayContaining([
      'exchange moving: rename into place',
      'data before: rename away',
      'prepared data: rename into place',
      'exchange done: rename into place',
      'snapshot: rename into place',
    ]),
  )
  await check(rewind)
  for (const { some } of partsOf(effects, rounds)) {
    const really = new Set(sampleOf(some, really_killed))
    rewind = next()
    for (const effect of some) {
      const doom = { effect, nth: 1 }
      const dies = () => apply(world, { services: [rewind.to] }, doom, { really: really.has(effect) })
      if (!(await dies()).died) {
        // An earlier process has done it already: begin anew, once.
        await check(rewind)
        rewind = next()
        expect((await dies()).died, `dies at: ${effect}`).toBe(true)
      }
      expect(isWhole(), `after a death at: ${effect}`).toBe(true)
    }
    await check(rewind)
  }
})
