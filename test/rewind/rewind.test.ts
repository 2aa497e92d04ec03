// A service goes back to a moment and on from there, and back again. Every moment stays what it was: those before the rewind, those of
// the state that it left, and those after it.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import type { ObservedService, WantedService } from '#providers/provider.ts'
import { ask, newWanted, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { momentNow, until } from '#test/until.ts'
import { rewindTo, rewound, takenAt } from './rewinding.ts'

const { newService, newWorld } = useWorlds()

test('every moment of a service that was rewound, undone and rewound again can be restored as it was', async () => {
  const world = await newWorld()
  const provider = await world.open()
  let wanted = await newWanted(provider, { size: 'shared', snapshots: [{ snapshot_id: 'first', deleted: false }] })
  await settle(provider, wanted)
  await ask(provider, wanted, 'create table t (n int)')
  await takenAt(provider, wanted, 'first')
  const commit = async (n: number) => {
    await ask(provider, wanted, `insert into t values (${n})`)
    return await momentNow()
  }
  const rows = () => ask(provider, wanted, 'select array_agg(n order by n) from t')
  const fork = (at: Date) => rowsOfFork(provider, wanted, at)

  const after_1 = await commit(1)
  const after_2 = await commit(2)
  await commit(3)
  wanted = await rewindTo(provider, wanted, after_1, 'before-1')
  expect(await rows()).toBe('1')
  const after_4 = await commit(4)
  expect(await Promise.all([fork(after_1), fork(after_2), fork(after_4)])).toEqual(['1', '1,2', '1,4'])

  // Undone: the state before, which its snapshot shows.
  const before_1 = await takenAt(provider, wanted, 'before-1')
  expect(await fork(before_1)).toBe('1,2,3')
  wanted = rewound(wanted, before_1, 'before-2')
  // Its WAL ends before the moment, which is the usual end of a state that was left, and no setback.
  expect(await toldMeanwhile(provider, wanted)).not.toContain('did not start')
  expect(await rows()).toBe('1,2,3')
  const after_5 = await commit(5)
  expect(await Promise.all([fork(after_4), fork(after_2), fork(after_5)])).toEqual(['1,4', '1,2', '1,2,3,5'])

  // To a moment of the state that was left first.
  wanted = await rewindTo(provider, wanted, after_4, 'before-3')
  expect(await rows()).toBe('1,4')
  const after_6 = await commit(6)
  expect(await Promise.all([fork(after_2), fork(after_5), fork(after_6)])).toEqual(['1,2', '1,2,3,5', '1,4,6'])
  const child = await newWanted(provider, {
    size: 'shared',
    source: { service_id: wanted.service_id, moment: { snapshot_id: 'before-2' } },
  })
  await settle(provider, child)
  expect(await ask(provider, child, 'select array_agg(n order by n) from t')).toBe('1,4')

  // The window is whole while its first snapshot is there; without it, it begins where what is left reaches every moment.
  const first = await takenAt(provider, wanted, 'first')
  const all = await provider.service.apply(wanted)
  expect(all.restorable).toEqual({ from: first, until: 'now' })
  wanted = { ...wanted, snapshots: [...wanted.snapshots, { snapshot_id: 'last', deleted: false }] }
  const last = await takenAt(provider, wanted, 'last')
  const without: WantedService = {
    ...wanted,
    snapshots: wanted.snapshots.map((one) => ({ ...one, deleted: one.snapshot_id === 'first' })),
  }
  const observed = await untilAbsent(provider, without, 'first')
  expect(observed.restorable).toEqual({ from: last, until: 'now' })
  const after_7 = await commit(7)
  await commit(8)
  expect(await fork(after_7)).toBe('1,4,6,7')
  const home = join(world.directory, 'services', wanted.service_id)
  expect(readdirSync(home).filter((name) => /prepared|before|gone|new$/.test(name))).toEqual([])
})

test('a moment whose WAL is missing is refused, and the service stays as it is', async () => {
  const { provider, wanted } = await newService({ size: 'shared' })
  await ask(provider, wanted, 'create table t as select 1 as n')
  const exchange = {
    exchange_id: 'x1',
    source: { service_id: wanted.service_id, moment: { at: (await momentNow()).toISOString() } },
    kept_as: 'kept',
  }
  const told: string[] = []
  await until(async () => {
    const observed = await provider.service.apply({ ...wanted, generation: 2, exchange })
    told.push(...observed.events.map(({ kind, message }) => `${kind}: ${message}`))
    return observed.settled
  })
  expect(told).toEqual(['setback: its data stays as it is: no snapshot of its parent leads to that moment any more'])
  expect(await ask(provider, wanted, 'select n from t')).toBe('1')
})

test('a copy for a moment that is not wanted any more is no data of the next one', async () => {
  const told: string[] = []
  const prepared = () => told.filter((name) => name === 'prepared data: rename into place').length
  const effect = async (name: string) => {
    told.push(name)
    // The copy begins when all is ready for the next one, if that does not end it before.
    if (name === 'fork: copy snapshot')
      await until(() => prepared() === 2, { timeout_ms: 4_000 }).catch(() => undefined)
  }
  const world = await newWorld()
  const provider = await world.open({ effect })
  const snapshots = [{ snapshot_id: 'first', deleted: false }]
  const wanted = await newWanted(provider, { size: 'shared', snapshots })
  await settle(provider, wanted)
  await takenAt(provider, wanted, 'first')
  await ask(provider, wanted, 'create table t as select 1 as n')
  const after_1 = await momentNow()
  await ask(provider, wanted, 'insert into t values (2)')
  const after_2 = await momentNow()
  expect((await provider.service.apply(rewound(wanted, after_1, 'before-1'))).settled).toBe(false)
  const other = { ...rewound(wanted, after_2, 'before-2'), generation: wanted.generation + 2 }
  await settle(provider, other)
  expect(await ask(provider, other, 'select array_agg(n order by n) from t')).toBe('1,2')
})

/** Settles it. */
async function toldMeanwhile(provider: LocalProvider, wanted: WantedService): Promise<string> {
  const told: string[] = []
  await until(async () => {
    const { settled, waiting_for, events } = await provider.service.apply(wanted)
    told.push(waiting_for ?? '', ...events.map(({ message }) => message))
    return settled
  })
  return told.join('\n')
}

async function untilAbsent(provider: LocalProvider, wanted: WantedService, id: string): Promise<ObservedService> {
  return await until(async () => {
    const observed = await provider.service.apply(wanted)
    return observed.snapshots.some((one) => one.snapshot_id === id && one.state === 'absent') && observed
  })
}

async function rowsOfFork(provider: LocalProvider, { service_id }: WantedService, at: Date): Promise<string> {
  const source = { service_id, moment: { at: at.toISOString() } }
  const child = await newWanted(provider, { size: 'shared', source })
  await settle(provider, child)
  const rows = await ask(provider, child, 'select array_agg(n order by n) from t')
  await settle(provider, { ...child, deleted: true })
  return rows
}
