// A machine that loses its power right after a fork was made: it was flushed before its rename, so it is there, and whole. The
// loss is a real one: whatever has not come to the disk by then is lost.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import type { ServiceSource, WantedService } from '#providers/provider.ts'
import { newLossyDisk } from '#test/lossy-disk.ts'
import { ask, newWanted, settle, useWorlds, type World } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'
import { newParent } from './parent.ts'

const { newWorld } = useWorlds()
const disk = newLossyDisk({ size: '3G', shares_blocks: true })
const { why } = disk

afterAll(() => disk.remove())

test('a fork that was not started yet is started as it is after a kill of the server', async () => {
  const { provider, child, data } = await newFork(await newWorld(), new Error('killed'))
  const { ino } = statSync(data)
  await settle(provider, child)
  expect(statSync(data).ino).toBe(ino)
  expect(await ask(provider, child, 'select n from t')).toBe('1')
})

describe.skipIf(why)(`a disk that shares blocks loses its power${why}`, () => {
  test('right after a fork serves: the fork has all that was committed to it', async () => {
    const world = await newWorld(disk.path)
    const { provider, parent, child, effects } = await newFork(world)
    const moves = effects.filter((effect) => ['fork: make durable', 'fork: rename into place'].includes(effect))
    expect(moves).toEqual(['fork: make durable', 'fork: rename into place'])
    await ask(provider, child, 'create table own as select 2 as n')
    await losePower(world)
    const next = await world.open()
    for (const wanted of [parent, child]) await settle(next, wanted)
    expect(await ask(next, parent, 'select n from t')).toBe('1')
    expect(await ask(next, child, 'select t.n + own.n from t, own')).toBe('3')
  })

  test('before a fork is started: it is there, with all that its parent had', async () => {
    const world = await newWorld(disk.path)
    const { parent, child, data } = await newFork(world, new Error('killed'))
    const { ino } = statSync(data)
    await losePower(world)
    expect(statSync(data).ino).toBe(ino)
    const next = await world.open()
    for (const wanted of [parent, child]) await settle(next, wanted)
    expect(statSync(data).ino).toBe(ino)
    expect(await ask(next, child, 'select n from t')).toBe('1')
  })
})

describe.skipIf(why)(`a disk that shares blocks${why}`, () => {
  test('forks of a snapshot and to a moment, whose files may have kept their parent’s user there', async () => {
    const provider = await (await newWorld(disk.path)).open()
    const parent = await newParent(provider)
    const kept = { ...parent, snapshots: [{ snapshot_id: 'first', deleted: false }] }
    await until(async () => {
      const { snapshots } = await provider.service.apply(kept)
      return snapshots[0]?.state === 'complete'
    })
    const source = { service_id: parent.service_id, moment: { snapshot_id: 'first' } }
    const child = await newWanted(provider, { size: 'shared', source })
    await settle(provider, child)
    expect(await ask(provider, child, 'select n from t')).toBe('1')

    await ask(provider, parent, 'update t set n = 2')
    const moment = Date.now() + 1
    await until(() => Date.now() > moment + 1)
    await ask(provider, parent, 'update t set n = 3')
    const earlier = { ...source, moment: { at: new Date(moment).toISOString() } }
    const replayed = await newWanted(provider, { size: 'shared', source: earlier })
    await settle(provider, replayed)
    expect(await ask(provider, replayed, 'select n from t')).toBe('2')
  })
})

/** A parent that serves and a fork of this moment; which serves too, or was given up right before its start. */
async function newFork(world: World, given_up?: Error) {
  let failure: Error | undefined
  const effects: string[] = []
  const atEffect = (name: string) => {
    effects.push(name)
    if (failure && name === 'postmaster: spawn') throw failure
  }
  const provider: LocalProvider = await world.open({ effect: atEffect })
  const parent = await newParent(provider)
  const source: ServiceSource = { service_id: parent.service_id, moment: 'now' }
  const child: WantedService = await newWanted(provider, { size: 'shared', source })
  effects.length = 0
  failure = given_up
  if (given_up) await expect(provider.service.apply(child)).rejects.toThrow(given_up.message)
  else await settle(provider, child)
  failure = undefined
  return { provider, parent, child, effects, data: join(world.directory, 'services', child.service_id, 'data') }
}

async function losePower(world: World): Promise<void> {
  disk.losePower()
  await world.close()
  await disk.mount()
}
