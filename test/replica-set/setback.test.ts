// What a replica set does when something of it is taken away under its readers.
import { readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ask, useWorlds, type World } from '#test/provider/service-fixture.ts'
import { leaveToArchive, makeOld, walReceiverOf } from '#test/provider/standby-fixture.ts'
import type { WantedReplicaSet } from '#providers/provider.ts'
import { until } from '#test/until.ts'
import { startReaders } from './readers.ts'
import {
  balancedTest,
  homeOf,
  keepWatching,
  newFamily,
  newSet,
  nodePid,
  readFrom,
  readerOf,
  settleSet,
} from './set-fixture.ts'

const { newWorld } = useWorlds()

balancedTest('readers hardly notice when a node is killed, loses its data, or is resized', async () => {
  const family = await newFamily(await newWorld())
  const { provider, world } = family
  const set = await newSet(family, { nodes: 2 })
  await settleSet(provider, set)
  const watcher = keepWatching(family, set)
  const readers = startReaders(provider, set, 'select n from t', 1)
  const killed = await nodePid(world, set, 1)
  process.kill(killed, 'SIGKILL')
  await until(async () => (await nodePid(world, set, 1)) !== killed, { what: 'the node runs again' })
  expect(await watcher.want(set)).toMatchObject({ state: 'serving' })

  expect(watcher.told).toContain('node 1 died and was started again')

  await rm(join(homeOf(world, set, 0), 'data'), { recursive: true })
  expect(await watcher.want(set)).toMatchObject({ state: 'serving' })

  const size = { cpu_millis: 500, memory_gbs: 2 }
  const before = [await nodePid(world, set, 0), await nodePid(world, set, 1)]
  const resized = { ...set, size }
  expect(await watcher.want(resized)).toMatchObject({ state: 'serving' })
  expect(before).not.toContain(await nodePid(world, set, 0))
  expect(before).not.toContain(await nodePid(world, set, 1))
  expect(await readFrom(provider, set, 'show shared_buffers')).toBe('512MB')
  await readers.end()
  expect(readers.attempts.length).toBeGreaterThan(10)
  expect(Math.max(...readers.attempts)).toBeLessThanOrEqual(3)
})

balancedTest('a balancer that is killed comes back, and new settings cost no connection', async () => {
  const family = await newFamily(await newWorld())
  const { provider, world } = family
  const set = await newSet(family, { nodes: 2 })
  await settleSet(provider, set)
  const watcher = keepWatching(family, set)
  const [killed] = await balancerPids(world, set)
  process.kill(killed ?? expect.fail('the node runs'), 'SIGKILL')
  await until(() => readFrom(provider, set, 'select n from t'), { what: 'the balancer is back' })
  await watcher.want(set)
  expect(watcher.told).toContain('the balancer died and was started again')

  // Another server finds it as it is.
  const second = await world.open()
  const found = await balancerPids(world, set)
  expect(await settleSet(second, set)).toMatchObject({ state: 'serving', events: [] })
  await second.close()
  expect(await balancerPids(world, set)).toEqual(found)
  // What changes is taken over by a new process, under open connections.
  const reader = await readerOf(provider, set)
  expect(await watcher.want({ ...set, nodes: 3 })).toMatchObject({ state: 'serving' })
  expect(await balancerPids(world, set)).toHaveLength(2)
  expect((await reader.query('select n from t')).rows).toEqual([{ n: 7 }])
  await reader.end()
  await until(async () => (await balancerPids(world, set)).length === 1, { what: 'the old balancer goes' })
  expect(await watcher.want({ ...set, nodes: 1 })).toMatchObject({ state: 'serving' })
  expect(await balancerPids(world, set)).toEqual([])
  expect(await readFrom(provider, set, 'select n from t')).toBe('7')
  expect(await readdir(homeOf(world, set))).not.toContain('node-1')
  expect(await watcher.want(set)).toMatchObject({ state: 'serving' })
  expect(await balancerPids(world, set)).toHaveLength(1)
})

test('a first copy that fails is told as such, tried again, and can be given up', async () => {
  let full = true
  const effect = (name: string) => {
    if (full && name === 'standby: make durable') throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
  }
  const family = await newFamily(await newWorld(), { effect })
  const { provider, world } = family
  const set = await newSet(family)
  // A copy on a busy machine outlasts a pass.
  const failure = () =>
    until(async () => [await provider.replica_set.apply(set)].find((observed) => observed.failed), { what: 'it fails' })
  for (const _ of ['first', 'again']) {
    expect(await failure()).toMatchObject({ state: 'absent', waiting_for: expect.stringContaining('space') })
  }
  expect(await readdir(homeOf(world, set))).not.toContain('data.new')
  full = false
  expect(await settleSet(provider, set)).toMatchObject({ state: 'serving' })

  const alone = family.service
  const replicated = { ...alone, generation: 2, ha: { replica_count: 1, sync_replica_count: 1, switchovers: 0 } }
  full = true
  await until(async () => {
    const { state, waiting_for = '' } = await provider.service.apply(replicated)
    return state === 'serving' && waiting_for.includes('space')
  })
  expect(await provider.service.apply({ ...alone, generation: 3 })).toMatchObject({ state: 'serving', settled: true })
  expect(
    (await readdir(join(world.directory, 'services', alone.service_id))).filter((name) => name.startsWith('node')),
  ).toEqual([])
})

test('a node that hangs is noticed, ended and started again', async () => {
  const family = await newFamily(await newWorld())
  const { provider, world } = family
  const set = await newSet(family)
  await settleSet(provider, set)
  const watcher = keepWatching(family, set)
  const hung = await nodePid(world, set)
  process.kill(hung, 'SIGSTOP')
  onTestFinished(() => continueIfThere(hung))
  const told = 'node 0 did not answer any more and was started again'
  await until(() => watcher.told.includes(told), { what: 'people are told' })
  expect(await readFrom(provider, set, 'select n from t')).toBe('7')
})

/** A process that stands still could not be ended by others. */
function continueIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT')
  } catch {
    // It was ended, as it should be.
  }
}

async function balancerPids(world: World, set: WantedReplicaSet): Promise<number[]> {
  const settings = join(homeOf(world, set), 'balancer.cfg')
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return pids.filter((_, at) => commands[at]?.startsWith('/usr/sbin/haproxy') && commands[at].includes(settings))
}

test('a node that lets a reader end before it goes on is not copied anew', async () => {
  const family = await newFamily(await newWorld())
  const { provider, world, service } = family
  const set = await newSet(family)
  await settleSet(provider, set)
  const reader = await readerOf(provider, set)
  onTestFinished(() => reader.end())
  await reader.query('begin isolation level repeatable read')
  const read = async () => (await reader.query<{ n: number }>('select n from t')).rows
  expect(await read()).toEqual([{ n: 7 }])
  const pid = await nodePid(world, set)
  const receiver = await walReceiverOf(pid)
  process.kill(receiver, 'SIGSTOP')
  // What its snapshot needs is removed, and the node learns that from the archive.
  await ask(provider, service, 'delete from t')
  await ask(provider, service, 'vacuum t')
  await leaveToArchive(world, service)
  process.kill(receiver, 'SIGCONT')
  const sign = join(homeOf(world, set), 'not-streaming')
  await until(async () => {
    await provider.replica_set.apply(set)
    return (await readFile(sign, 'utf8')).includes('waits for its readers')
  })
  await makeOld(sign)
  expect((await provider.replica_set.apply(set)).events).toEqual([])
  expect(await read()).toEqual([{ n: 7 }])
  await reader.query('commit')
  await settleSet(provider, set)
  expect(await nodePid(world, set)).toBe(pid)
})
