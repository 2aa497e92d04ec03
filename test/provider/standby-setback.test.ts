// Whatever happens to a replica, it comes back by itself and its primary serves meanwhile: killed, hung, damaged, or its
// data removed. Real PostgreSQL, provider calls alone.
import { readdirSync, readlinkSync } from 'node:fs'
import { open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import type { WantedService } from '#providers/provider.ts'
import { until } from '#test/until.ts'
import { ask, newWanted, settle, useWorlds, type World } from './service-fixture.ts'
import { dataOf, homeOf, leaveToArchive, nodePid, standbysOf, withReplicas } from './standby-fixture.ts'

const { newWorld } = useWorlds()

test('a replica that was killed, lost its data or is damaged is back, and its primary serves meanwhile', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = withReplicas(await newWanted(provider, { size: 'shared' }), 1, 1, 0)
  await settle(provider, wanted)
  await ask(provider, wanted, 'create table t as select 7 as n')
  const data = dataOf(world, wanted, 1)
  const setbacks = [
    { what: 'killed', harm: async (pid: number) => process.kill(pid, 'SIGKILL') },
    { what: 'without data', harm: () => rm(data, { recursive: true, force: true }) },
    {
      what: 'damaged',
      harm: async (pid: number) => {
        process.kill(pid, 'SIGKILL')
        const control = await open(join(data, 'global', 'pg_control'), 'r+')
        await control.truncate(100)
        await control.close()
      },
    },
  ]
  for (const { what, harm } of setbacks) {
    const pid = await nodePid(world, wanted, 1)
    await harm(pid)
    expect((await provider.service.apply(wanted)).state, what).toBe('serving')
    await untilReplaced(world, provider, wanted, pid)
    expect(await ask(provider, wanted, 'select n from t')).toBe('7')
  }
  expect(await primaryLog(world, wanted)).not.toContain('FATAL')
})

test('a replica that hangs is started again', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = withReplicas(await newWanted(provider, { size: 'shared' }), 1, 1, 1)
  await settle(provider, wanted)
  const pid = await nodePid(world, wanted, 1)
  for (const one of processesIn(dataOf(world, wanted, 1))) process.kill(one, 'SIGSTOP')
  await untilReplaced(world, provider, wanted, pid)
  // Its commits wait for it, and need not any more.
  await ask(provider, wanted, 'create table t as select 7 as n')
  expect(await ask(provider, wanted, 'select n from t')).toBe('7')
})

/** Its replica is killed, and what that lacks is in the archive alone. */
async function newLeftBehind() {
  const world = await newWorld()
  const effects: string[] = []
  const provider = await world.open({ effect: (name) => void effects.push(name) })
  const wanted = withReplicas(await newWanted(provider, { size: 'shared' }), 1, 1, 0)
  await settle(provider, wanted)
  const pid = await nodePid(world, wanted, 1)
  process.kill(pid, 'SIGKILL')
  await leaveToArchive(world, wanted)
  return { world, effects, provider, wanted, pid }
}

test('a replica that was away for longer than WAL is kept for it catches up from the archive', async () => {
  const { world, effects, provider, wanted, pid } = await newLeftBehind()
  effects.length = 0
  await untilReplaced(world, provider, wanted, pid)
  expect(effects).toContain('replication slot: make')
  expect(effects).not.toContain('copy: files')
})

test('a replica that waits for WAL that there is no more before it can start is copied anew', async () => {
  const { world, effects, provider, wanted, pid } = await newLeftBehind()
  for (const folder of [join(homeOf(world, wanted), 'archive'), join(dataOf(world, wanted, 1), 'pg_wal')]) {
    for (const name of readdirSync(folder)) if (/^[0-9A-F]{24}$/.test(name)) await rm(join(folder, name))
  }
  effects.length = 0
  await untilReplaced(world, provider, wanted, pid)
  expect(effects).toContain('copy: files')
})

async function untilReplaced(world: World, provider: LocalProvider, wanted: WantedService, pid: number): Promise<void> {
  await until(
    async () => {
      const { settled } = await provider.service.apply(wanted)
      return settled && (await nodePid(world, wanted, 1)) !== pid
    },
    { what: 'another server of the replica streams', interval_ms: 100 },
  )
  expect(await standbysOf(provider, wanted)).toEqual({ node_1: 'streaming' })
}

function processesIn(folder: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === folder
    } catch {
      return false
    }
  })
}

async function primaryLog(world: World, { service_id }: WantedService): Promise<string> {
  const folder = join(world.directory, 'services', service_id, 'log')
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('')
}
