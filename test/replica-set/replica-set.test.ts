// The life of a read replica set by provider calls alone, on real PostgreSQL and HAProxy.
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { WantedReplicaSet } from '#providers/provider.ts'
import { ask, settle, useWorlds, type World } from '#test/provider/service-fixture.ts'
import { verifierOf } from '#test/provider/wanted.ts'
import { balancedTest, homeOf, newFamily, newSet, readFrom, settleSet, tracesOf, untilRead } from './set-fixture.ts'

const { newWorld } = useWorlds()

test('a set of one node reads what its service writes, by the same login, and refuses writes', async () => {
  const family = await newFamily(await newWorld())
  const { provider, service } = family
  const set = await newSet(family)
  expect(await settleSet(provider, set)).toMatchObject({ state: 'serving', settled: true, events: [] })
  expect(await readFrom(provider, set, 'select n from t')).toBe('7')
  await ask(provider, service, 'insert into t values (8)')
  await untilRead(provider, set, 'select sum(n) from t', '15')
  await expect(readFrom(provider, set, 'insert into t values (9)')).rejects.toThrow(/read-only/)
  const deleted = { ...set, deleted: true }
  expect(await provider.replica_set.apply(deleted)).toEqual({ state: 'absent', settled: true, events: [] })
  expect(await provider.replica_set.apply(deleted)).toEqual({ state: 'absent', settled: true, events: [] })
  expect(await tracesOf(family.world, set)).toEqual([])
  expect(await ask(provider, service, 'select sum(n) from t')).toBe('15')
})

balancedTest(
  'a set of several nodes shares its readers among them, stops and starts with its service, and goes',
  async () => {
    const family = await newFamily(await newWorld())
    const { provider, service } = family
    const set = await newSet(family, { nodes: 2 })
    expect(await settleSet(provider, set)).toMatchObject({ state: 'serving', events: [] })
    const answering = new Set<string>()
    for (let read = 0; read < 4; read++) answering.add(await readFrom(provider, set, 'show data_directory'))
    expect(answering.size).toBe(2)

    // Neither our passes nor the balancer's checks are for people to read.
    for (let pass = 0; pass < 3; pass++) await provider.replica_set.apply(set)
    expect(
      (await logOf(family.world, set)).filter((line) => /reset by peer|starting up|incomplete/.test(line)),
    ).toEqual([])

    const off = { ...service, power: 'off' as const }
    await settle(provider, off)
    expect(await settleSet(provider, { ...set, service: off })).toMatchObject({ state: 'stopped' })
    await expect(readFrom(provider, set, 'select 1')).rejects.toThrow(/ECONNREFUSED/)
    await settle(provider, service)
    expect(await settleSet(provider, set)).toMatchObject({ state: 'serving', events: [] })

    const changed = { ...service, generation: 2, password_verifier: verifierOf('second password') }
    await settle(provider, changed)
    expect(await settleSet(provider, { ...set, service: changed })).toMatchObject({ state: 'serving' })

    await provider.stopAll()
    expect((await tracesOf(family.world, set)).filter((trace) => trace.includes('\0'))).toEqual([])
    await settleSet(provider, { ...set, service: { ...service, deleted: true } })
    expect(await tracesOf(family.world, set)).toEqual([])
  },
)

async function logOf(world: World, set: WantedReplicaSet): Promise<string[]> {
  const logs = [0, 1].map((node) => join(homeOf(world, set, node), 'log'))
  const files = await Promise.all(logs.map(async (log) => (await readdir(log)).map((name) => join(log, name))))
  const texts = await Promise.all(files.flat().map((file) => readFile(file, 'utf8')))
  expect(texts.join('')).toContain('ready to accept read-only connections')
  return texts.flatMap((text) => text.split('\n'))
}
