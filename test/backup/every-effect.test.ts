// A restore that dies right before every effect, a drill right before a sample of them, and another one after it: the service is in place whole, and nothing is left
// of the drill. Whole commands and servers are killed for real in restore.test.ts and drill-killed.test.ts.
import { cpSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import type { RestoredService } from '#providers/provider.ts'
import { ask, newWanted, settle, useWorlds, type World } from '#test/provider/service-fixture.ts'
import { homeOf } from '#test/provider/standby-fixture.ts'
import { sampleOf } from '#test/sample.ts'
import { until } from '#test/until.ts'
import { newLost } from './lost.ts'

const { newWorld } = useWorlds()

/** Runs it with a provider that dies at the effect, and with an effect of no name once more with one that does not. */
async function dyingAt(
  world: World,
  doomed: string | undefined,
  work: (backup: NonNullable<LocalProvider['backup']>) => Promise<unknown>,
): Promise<string[]> {
  const effects: string[] = []
  let dead = false
  const provider = await world.open({
    effect: (name) => {
      if (name === doomed) dead = true
      if (dead) throw new Error(`it died at: ${doomed}`)
      effects.push(name)
    },
  })
  effects.length = 0
  const { backup } = provider
  if (backup === undefined) throw new Error('the provider has no backups')
  await work(backup).catch((error: unknown) => {
    if (!dead) throw error
  })
  expect(dead, `it dies at: ${doomed}`).toBe(doomed !== undefined)
  await provider.close().catch(() => undefined)
  return [...new Set(effects)]
}

test('a restore that dies anywhere is repeated, and brings the service back', async () => {
  const world = await newWorld()
  const { wanted, kept } = await newLost(world)
  const { service_id, home } = wanted
  const fetched = join(world.directory, 'fetched-now')
  const newSpec = (): RestoredService => {
    const run = join(world.directory, 'run', service_id)
    for (const folder of [homeOf(world, wanted), run, fetched]) rmSync(folder, { recursive: true, force: true })
    cpSync(kept, fetched, { recursive: true })
    return {
      service_id,
      port: home.port,
      snapshot_id: 's1',
      snapshot_folder: join(fetched, 'snapshots', 's1'),
      wal_folder: join(fetched, 'backup'),
    }
  }
  const listed = () =>
    readdirSync(homeOf(world, wanted), { recursive: true, encoding: 'utf8' })
      .filter((path) => statSync(join(homeOf(world, wanted), path)).isFile())
      .toSorted()
  const first = newSpec()
  const effects = await dyingAt(world, undefined, (backup) => backup.restore(first))
  expect(effects).toEqual(expect.arrayContaining(['restore: copy snapshot', 'restore: rename into place']))
  const whole = listed()
  for (const effect of effects) {
    const spec = newSpec()
    await dyingAt(world, effect, (backup) => backup.restore(spec))
    await dyingAt(world, undefined, (backup) => backup.restore(spec))
    expect(listed(), `after a death at: ${effect}`).toEqual(whole)
  }
  const provider = await world.open()
  await settle(provider, { ...wanted, generation: 3 })
  expect(await ask(provider, wanted, 'select n from t')).toBe('7')
})

test('a drill that dies anywhere leaves nothing behind when it is made again', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = {
    ...(await newWanted(provider, { size: 'shared' })),
    snapshots: [{ snapshot_id: 's1', deleted: false }],
  }
  await settle(provider, wanted)
  await until(() => existsSync(join(homeOf(world, wanted), 'snapshots', 's1')))
  const { signal } = new AbortController()
  const drill = async (backup: NonNullable<LocalProvider['backup']>) => {
    expect(await backup.drill(wanted.service_id, { signal })).toBeUndefined()
  }
  // What is made once and for all is there after the first.
  await dyingAt(world, undefined, drill)
  const effects = await dyingAt(world, undefined, drill)
  expect(effects).toEqual(expect.arrayContaining(['drill: rename into place', 'home: rename away']))
  for (const effect of sampleOf(effects, 6)) await dyingAt(world, effect, drill)
  await dyingAt(world, undefined, drill)
  expect(readdirSync(join(world.directory, 'drill', 'services'))).toEqual([])
  expect(await ask(provider, wanted, 'select 1')).toBe('1')
})
