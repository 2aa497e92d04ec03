// Replica sets of several nodes: as many as there may be, and one of them that is late.
import { expect } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import { nodeOf, listeningAt, nodeAt } from '#providers/local/host/layout.ts'
import { withSuperuser } from '#providers/local/postgres/superuser.ts'
import type { WantedReplicaSet } from '#providers/provider.ts'
import { as_root, ask, useWorlds } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'
import { balancedTest, newFamily, newSet, readFrom, settleSet, tracesOf } from './set-fixture.ts'

const { newWorld } = useWorlds()

balancedTest('a set of ten nodes is made, answers from each of them, and goes without a trace', async () => {
  const family = await newFamily(await newWorld())
  const { provider, world } = family
  const set = await newSet(family, { nodes: 10 })
  expect(await settleSet(provider, set)).toMatchObject({ state: 'serving' })
  await until(async () => (await answering(provider, set, 10)) === 10, { what: 'each of them answers' })
  await settleSet(provider, { ...set, deleted: true })
  expect(await tracesOf(world, set)).toEqual([])
})

balancedTest('a node that is far behind gets no new readers until it has caught up', async () => {
  const family = await newFamily(await newWorld())
  const { provider, service, world } = family
  const set = await newSet(family, { nodes: 2 })
  await settleSet(provider, set)
  const late = nodeAt(
    listeningAt(nodeOf(world.directory, set.replica_set_id, service.home.port, as_root), set.home.port),
    1,
    'standby',
  )
  await withSuperuser(late, {}, (client) => client.query('select pg_wal_replay_pause()'))
  await ask(provider, service, 'create table big as select repeat(md5(i::text), 40) from generate_series(1, 60000) i')
  await until(async () => (await answering(provider, set, 4)) === 1, { what: 'the late node is left out' })
  expect(await readFrom(provider, set, 'select count(*) from big')).toBe('60000')
  await withSuperuser(late, {}, (client) => client.query('select pg_wal_replay_resume()'))
  await until(async () => (await answering(provider, set, 4)) === 2, { what: 'it is back' })
})

/** How many nodes answer when so many readers come one after the other. */
async function answering(provider: LocalProvider, set: WantedReplicaSet, readers: number): Promise<number> {
  const nodes = new Set<string>()
  for (let reader = 0; reader < readers; reader++) nodes.add(await readFrom(provider, set, 'show data_directory'))
  return nodes.size
}
