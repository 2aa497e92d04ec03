// kill -9 of the server right before every effect of making and of removing a replica set. One set is killed at each of
// them in turn: every new server goes on where the last one died. The end is that of an undisturbed run.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'vitest'
import type { WantedReplicaSet } from '#providers/provider.ts'
import { ask, useWorlds, type World } from '#test/provider/service-fixture.ts'
import type { Orders } from './apply-main.ts'
import { until } from '#test/until.ts'
import { balancedTest, newFamily, newSet, readFrom, settleSet, tracesOf } from './set-fixture.ts'

const { newWorld } = useWorlds()

balancedTest(
  'a set whose making and removal are killed anywhere ends whole, or without a trace',
  async () => {
    const world = await newWorld()
    const learning = await newSet(await newFamily(world), { nodes: 2 })
    const making = (await apply(world, learning)).effects
    const removing = (await apply(world, { ...learning, deleted: true })).effects
    expect(making).toEqual(expect.arrayContaining(['copy: files', 'standby: rename into place', 'balancer: spawn']))
    expect(removing).toEqual(expect.arrayContaining(['balancer: kill', 'home: rename away']))

    // Of another service, on which nothing is prepared for replicas yet.
    const family = await newFamily(world)
    const { provider, service } = family
    const set = await newSet(family, { nodes: 2 })
    expect(await killedAtEach(world, set, making)).toEqual([])
    expect(await settleSet(provider, set)).toMatchObject({ state: 'serving' })
    expect(await readFrom(provider, set, 'select n from t')).toBe('7')
    const processes = async (word: string) => (await tracesOf(world, set)).filter((trace) => trace.includes(word))
    // One that was forked a moment ago still looks like its parent.
    await until(async () => (await processes('/postgres\0-D')).length === 2, { what: 'each node has one server' })
    expect(await processes('/usr/sbin/haproxy\0')).toHaveLength(1)

    const deleted = { ...set, deleted: true }
    expect(await killedAtEach(world, deleted, removing)).toEqual([])
    await settleSet(provider, deleted)
    expect(await tracesOf(world, set)).toEqual([])
    expect(await ask(provider, service, 'select n from t')).toBe('7')
  },
  { timeout: 600_000 },
)

/** The rest every new service goes through too, in the test of its own. */
const chosen =
  /^(hold|copy|standby|settings|postmaster|limits|node home|balancer|home: rename|deleted|socket folder: remove)/

/** What is done only when processes end late; another run may not meet it. */
const by_chance = ['leftover processes: kill', 'stale pid file: remove', 'stale socket lock: remove']

/** The effects that were never met. One that was passed by, because a slow machine changed the order, is met from the start. */
async function killedAtEach(world: World, set: WantedReplicaSet, effects: readonly string[]): Promise<string[]> {
  const missed: string[] = []
  for (const kill_at of new Set(effects.filter((effect) => chosen.test(effect)))) {
    if ((await apply(world, set, kill_at)).killed) continue
    await apply(world, { ...set, deleted: !set.deleted })
    const { killed } = await apply(world, set, kill_at)
    if (!killed && !by_chance.includes(kill_at)) missed.push(kill_at)
  }
  return missed
}

async function apply({ directory, installation_id }: World, set: WantedReplicaSet, kill_at?: string) {
  const options = {
    directory,
    installation_id,
    host: '127.0.0.1',
    region_code: 'test',
    ports: { first: 20_000, last: 32_000 },
    postgres_directories: [],
  }
  const orders: Orders = { options, set, ...(kill_at !== undefined && { kill_at }) }
  const child = spawn(process.execPath, [join(import.meta.dirname, 'apply-main.ts')], {
    env: {
      PATH: process.env['PATH'],
      APPLY: JSON.stringify(orders),
      NODE_COMPILE_CACHE: join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'howdah'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const said = await text(child.stdout)
  await ended
  const killed = child.signalCode === 'SIGKILL'
  if (!killed) expect(child.exitCode).toBe(0)
  return { killed, effects: said.split('\n').filter(Boolean) }
}
