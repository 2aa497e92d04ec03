// A provider that dies right before every effect of making and of removing a replica set, at some by kill -9. One set is
// its victim at each of them in turn: every new provider goes on where the last one died. The end is that of an undisturbed run.
import { expect } from 'vitest'
import type { WantedReplicaSet } from '#providers/provider.ts'
import { apply } from '#test/provider/apply.ts'
import { ask, useWorlds, type World } from '#test/provider/service-fixture.ts'
import { sampleOf } from '#test/sample.ts'
import { until } from '#test/until.ts'
import { balancedTest, newFamily, newSet, readFrom, settleSet, tracesOf } from './set-fixture.ts'

const { newWorld } = useWorlds()
const kills_of_each = 2

balancedTest(
  'a set whose making and removal die anywhere ends whole, or without a trace',
  async () => {
    const world = await newWorld()
    const learning = await newSet(await newFamily(world), { nodes: 2 })
    const making = (await apply(world, { sets: [learning] })).effects
    const removing = (await apply(world, { sets: [{ ...learning, deleted: true }] })).effects
    expect(making).toEqual(expect.arrayContaining(['copy: files', 'standby: rename into place', 'balancer: spawn']))
    expect(removing).toEqual(expect.arrayContaining(['balancer: kill', 'home: rename away']))

    // Of another service, on which nothing is prepared for replicas yet.
    const family = await newFamily(world)
    const { provider, service } = family
    const set = await newSet(family, { nodes: 2 })
    expect(await diesAtEach(world, set, making)).toEqual([])
    expect(await settleSet(provider, set)).toMatchObject({ state: 'serving' })
    expect(await readFrom(provider, set, 'select n from t')).toBe('7')
    const processes = async (word: string) => (await tracesOf(world, set)).filter((trace) => trace.includes(word))
    // A process that was just forked still has the command line of its parent.
    await until(async () => (await processes('/postgres\0-D')).length === 2, { what: 'each node has one server' })
    expect(await processes('/usr/sbin/haproxy\0')).toHaveLength(1)

    const deleted = { ...set, deleted: true }
    expect(await diesAtEach(world, deleted, removing)).toEqual([])
    await settleSet(provider, deleted)
    expect(await tracesOf(world, set)).toEqual([])
    expect(await ask(provider, service, 'select n from t')).toBe('7')
  },
  { timeout: 600_000 },
)

/** What is done only when processes end late; another run may not meet it. */
const by_chance = ['leftover processes: kill', 'stale pid file: remove', 'stale socket lock: remove']

/** The effects that were never met. An effect that a slow machine's order skipped is met from the start. */
async function diesAtEach(world: World, set: WantedReplicaSet, learnt: readonly string[]): Promise<string[]> {
  const missed: string[] = []
  const effects = [...new Set(learnt)]
  const killed = sampleOf(effects, kills_of_each)
  for (const effect of effects) {
    const dies = async () =>
      (await apply(world, { sets: [set] }, { effect, nth: 1 }, { really: killed.includes(effect) })).died
    if (await dies()) continue
    await apply(world, { sets: [{ ...set, deleted: !set.deleted }] })
    if (!(await dies()) && !by_chance.includes(effect)) missed.push(effect)
  }
  return missed
}
