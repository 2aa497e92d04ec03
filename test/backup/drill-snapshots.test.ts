// A service that keeps few snapshots takes the next one, and removes the one before with its WAL, while a drill reads that.
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import { Untried, type WantedService } from '#providers/provider.ts'
import { ask, newWanted, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'

const { newWorld } = useWorlds()

test('a drill whose snapshot is removed meanwhile begins again with the next one, and tells nothing untrue', async () => {
  const world = await newWorld()
  const provider = await world.open()
  let number = 1
  const of = (snapshot_id: string, deleted: boolean) => ({ snapshot_id, deleted })
  let wanted = await newWanted(provider, { size: 'shared', snapshots: [of('s1', false)] })
  await settle(provider, wanted)
  const home = join(world.directory, 'services', wanted.service_id)
  const isThere = () => existsSync(join(home, 'snapshots', `s${number}`))
  await until(isThere)
  /** The next snapshot takes the place of the last one. */
  const exchange = async () => {
    await ask(provider, wanted, `create table t${number} as select n from generate_series(1, 100000) n`)
    number += 1
    wanted = { ...wanted, snapshots: [of(`s${number - 1}`, false), of(`s${number}`, false)] }
    await untilTaken(provider, wanted, isThere)
    wanted = { ...wanted, snapshots: [of(`s${number - 1}`, true), of(`s${number}`, false)] }
    await provider.service.apply(wanted)
    return undefined
  }
  const { signal } = new AbortController()
  const drill = (fetch: () => Promise<undefined>) => provider.backup?.drill(wanted.service_id, { signal, fetch })
  let fetches = 0
  expect(await drill(async () => (++fetches === 1 ? await exchange() : undefined))).toBeUndefined()
  expect(fetches).toBe(2)
  await expect(drill(exchange)).rejects.toThrow(
    new Untried('its snapshots were removed faster than they could be read'),
  )

  // What cannot be made ready was not tried out.
  mkdirSync(join(home, 'archive', '0000000100000000000000FF'))
  await expect(drill(async () => undefined)).rejects.toThrow(Untried)
  rmSync(join(home, 'archive', '0000000100000000000000FF'), { recursive: true })
  expect(await drill(async () => undefined)).toBeUndefined()
})

async function untilTaken(provider: LocalProvider, wanted: WantedService, isThere: () => boolean): Promise<void> {
  await until(async () => {
    await provider.service.apply(wanted)
    return isThere()
  })
}
