// A service that is made of what a copy elsewhere gave back, beside the one that it is a copy of: whoever makes it dies right before every
// effect of laying it ready and right before a sample of those of making it. Either nothing of it is there, or it has every row.
import { cpSync, existsSync, readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import { apply } from '#test/provider/apply.ts'
import { ask, newWanted, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { sampleOf } from '#test/sample.ts'
import { until } from '#test/until.ts'

const { newWorld } = useWorlds()

const deaths = 5
const real_deaths = 1

test('a service that is restored beside a living one is there whole or not at all, whoever dies meanwhile', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const living = await newWanted(provider, { size: 'shared', snapshots: [{ snapshot_id: 's1', deleted: false }] })
  await settle(provider, living)
  const services = join(world.directory, 'services')
  const home = join(services, living.service_id)
  await until(() => existsSync(join(home, 'snapshots', 's1')))
  await ask(provider, living, 'create table t as select 7 as n')
  await provider.backup?.stageWal()

  const learnt = await newWanted(provider, { size: 'shared' })
  const fetch = async (folder: string) => {
    cpSync(join(home, 'snapshots', 's1'), join(folder, 's1'), { recursive: true })
    cpSync(join(home, 'backup'), join(folder, 'wal'), { recursive: true })
    return { snapshot_id: 's1', snapshot_folder: join(folder, 's1'), wal_folder: join(folder, 'wal') }
  }
  const isWanted = async (service_id: string) => service_id === learnt.service_id
  const layReady = (by: LocalProvider, service_id: string) => by.backup?.layReady(service_id, { fetch, isWanted })
  const laying = ['write facts', 'make durable', 'rename into place'].map((step) => `fetched service: ${step}`)
  for (const [at, doomed] of laying.entries()) {
    const effect = (name: string) => {
      if (name === doomed) throw new Error(`it died at: ${name}`)
    }
    const dying = await world.open({ effect })
    await expect(layReady(dying, `dead${at}`)).rejects.toThrow(`it died at: ${doomed}`)
    await dying.close()
    expect(readdirSync(services)).not.toContain(`dead${at}.fetched`)
  }

  await layReady(provider, learnt.service_id)
  await layReady(provider, 'killed')
  // A day later, before any pass over it, the next service is restored: only what no service is to be made of is removed.
  const day_ago = new Date(Date.now() - 25 * 3_600_000)
  for (const id of [learnt.service_id, 'killed']) utimesSync(join(services, `${id}.fetched`), day_ago, day_ago)
  const wanted = await newWanted(provider, { size: 'shared' })
  await layReady(provider, wanted.service_id)
  expect(existsSync(join(services, 'killed.fetched'))).toBe(false)
  const { effects } = await apply(world, { services: [learnt] })
  expect(effects).toEqual(expect.arrayContaining(['restore: copy snapshot', 'fork: rename into place']))
  expect(await ask(provider, learnt, 'select n from t')).toBe('7')

  // From the copy on until the data is in place, and the start after it.
  const all = [...new Set(effects)]
  const each = all.slice(all.indexOf('restore: copy snapshot'), all.indexOf('fork: rename into place') + 4)
  const some = sampleOf(each, deaths).toSorted((one, other) => each.indexOf(one) - each.indexOf(other))
  const really = new Set(sampleOf(some, real_deaths))
  for (const effect of some) {
    const { died } = await apply(world, { services: [wanted] }, { effect, nth: 1 }, { really: really.has(effect) })
    expect(died, effect).toBe(true)
    const left = readdirSync(services).filter((name) => name.startsWith(wanted.service_id))
    // What it is made of stays until it is made.
    expect(left.includes(`${wanted.service_id}.fetched`) || existsSync(join(services, wanted.service_id, 'data'))).toBe(
      true,
    )
  }
  await settle(provider, wanted)
  expect(await ask(provider, wanted, 'select n from t')).toBe('7')
  await until(async () => {
    await provider.service.apply(wanted)
    return !readdirSync(services).includes(`${wanted.service_id}.fetched`)
  })
  expect(await ask(provider, living, 'select n from t')).toBe('7')
})
