// A replica set beside its service: through a failover and a resize of that, behind a pooler of its own, without a primary
// for a while, and removed in the middle of being made.
import { rm } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { as_root, ask, postmasterPid, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { listeningAt, nodeAt, nodeOf } from '#providers/local/host/layout.ts'
import { poolerRefusal } from '#providers/local/pooler/pooler.ts'
import { withSuperuser } from '#providers/local/postgres/superuser.ts'
import { dataOf, nodePid as replicaPid, walReceiverOf, withReplicas } from '#test/provider/standby-fixture.ts'
import { until } from '#test/until.ts'
import { startReaders } from './readers.ts'
import { newEndpoint } from '#test/addresses.ts'
import {
  balancedTest,
  newFamily,
  newSet,
  nodePid,
  readFrom,
  readerOf,
  settleSet,
  tracesOf,
  untilRead,
} from './set-fixture.ts'

const { newWorld } = useWorlds()

test('a set follows the new primary of its service, and its service to another size', async () => {
  const family = await newFamily(await newWorld())
  const { provider, world } = family
  const service = withReplicas(family.service, 2, 1, 1)
  await settle(provider, service)
  const set = await newSet({ ...family, service })
  await settleSet(provider, set)
  const reader = await readerOf(provider, set)
  process.kill(await postmasterPid(world, service), 'SIGKILL')
  await settle(provider, service)
  expect(await ask(provider, service, 'show data_directory')).toContain('node-1')
  await ask(provider, service, 'insert into t values (8)')
  await untilRead(provider, set, 'select sum(n) from t', '15')
  // The reader who was there before has noticed nothing.
  expect((await reader.query('select sum(n)::int from t')).rows).toEqual([{ sum: 15 }])
  await reader.end()

  const resized = { ...service, generation: 3, size: { cpu_millis: 500, memory_gbs: 2 } }
  await settle(provider, resized)
  expect(await settleSet(provider, { ...set, service: resized })).toMatchObject({ state: 'serving' })
  await ask(provider, resized, 'insert into t values (9)')
  await untilRead(provider, set, 'select sum(n) from t', '24')
  expect(await readFrom(provider, set, 'show shared_buffers')).toBe('32MB')
})

test('a node takes as many connections as its service that grew, before it has replayed that', async () => {
  const family = await newFamily(await newWorld())
  const { provider, world, service } = family
  const set = await newSet(family)
  await settleSet(provider, set)
  const node = nodeOf(world.directory, set.replica_set_id, set.home.port, as_root)
  const paused = listeningAt(nodeAt(node, 0, 'standby'), set.reach.port)
  await withSuperuser(paused, {}, (client) => client.query('select pg_wal_replay_pause()'))
  const grown = { ...service, generation: 2, size: { cpu_millis: 2000, memory_gbs: 8 } }
  await settle(provider, grown)
  const of_grown = { ...set, service: grown }
  await provider.replica_set.apply(of_grown)
  const connections = 'show max_connections'
  expect(await readFrom(provider, set, connections)).toBe(await ask(provider, grown, connections))
  await settleSet(provider, of_grown)
  await ask(provider, grown, 'insert into t values (8)')
  await untilRead(provider, set, 'select sum(n) from t', '15')
})

balancedTest(
  'nodes that know more than the new primary are copied anew, and readers are served meanwhile',
  async () => {
    const family = await newFamily(await newWorld())
    const { provider, world } = family
    const service = withReplicas(family.service, 2, 1, 0)
    await settle(provider, service)
    const set = await newSet({ ...family, service }, { nodes: 2 })
    await settleSet(provider, set)
    // A replica that gets nothing any more, and a commit that only the set has when the primary is lost with its disk.
    const receiver = await walReceiverOf(await replicaPid(world, service, 1))
    process.kill(receiver, 'SIGSTOP')
    await ask(provider, service, 'insert into t values (8)')
    for (const _ of [0, 1]) await untilRead(provider, set, 'select sum(n) from t', '15')
    process.kill(await postmasterPid(world, service), 'SIGKILL')
    process.kill(receiver, 'SIGKILL')
    await rm(dataOf(world, service, 0), { recursive: true })
    const readers = startReaders(provider, set, 'select sum(n) from t', 1)
    await settle(provider, service)
    expect(await ask(provider, service, 'select sum(n) from t')).toBe('7')
    const { events } = await settleSet(provider, set)
    expect(events.map(({ message }) => message.split(':')[0])).toEqual(
      expect.arrayContaining(['replica 0 is copied anew', 'replica 1 is copied anew']),
    )
    for (const _ of [0, 1]) await untilRead(provider, set, 'select sum(n) from t', '7')
    await readers.end()
    expect(Math.max(...readers.attempts)).toBeLessThanOrEqual(3)
  },
)

test('a single node that knows more than the new primary is noticed without a pass', async () => {
  const family = await newFamily(await newWorld())
  const { provider, world } = family
  const service = withReplicas(family.service, 2, 1, 0)
  await settle(provider, service)
  const set = await newSet(family)
  await settleSet(provider, set)
  const noticed = new Set<string>()
  provider.watch((_, id) => void noticed.add(id))
  const receiver = await walReceiverOf(await replicaPid(world, service, 1))
  process.kill(receiver, 'SIGSTOP')
  await ask(provider, service, 'insert into t values (8)')
  await untilRead(provider, set, 'select sum(n) from t', '15')
  process.kill(await postmasterPid(world, service), 'SIGKILL')
  process.kill(receiver, 'SIGKILL')
  await rm(dataOf(world, service, 0), { recursive: true })
  await settle(provider, service)
  await until(() => noticed.has(set.replica_set_id), { what: 'the set is noticed' })
  await settleSet(provider, { ...set, service })
  await untilRead(provider, set, 'select sum(n) from t', '7')
})

balancedTest('the pooler of a set leads to all of its nodes, and to the others when one is killed', async (context) => {
  const refusal = await poolerRefusal()
  if (refusal !== undefined) context.skip(refusal)
  const family = await newFamily(await newWorld())
  const { provider, world, service } = family
  const taken = new Set([service.home.port])
  const plain = await newSet(family, { nodes: 2 })
  const pooler = await newEndpoint(provider, taken.add(plain.home.port))
  const set = { ...plain, pooler }
  expect(await settleSet(provider, set)).toMatchObject({ state: 'serving', events: [] })
  const pooled = (database: string) => ask(provider, { ...service, reach: pooler }, 'show data_directory', { database })
  const answering = new Set<string>()
  await until(async () => answering.add(await pooled('tsdb')).add(await pooled('tsdb_transaction')).size === 2)
  process.kill(await nodePid(world, set, 1), 'SIGKILL')
  await until(async () => (await pooled('tsdb_transaction')) !== '', { what: 'the pooler goes on with the other node' })
  expect(await settleSet(provider, set)).toMatchObject({ state: 'serving' })
  expect(await settleSet(provider, plain)).toMatchObject({ state: 'serving' })
  await expect(pooled('tsdb')).rejects.toThrow(/ECONNREFUSED/)
})

test('a set serves on, and comes up again, while its service has no primary', async () => {
  const family = await newFamily(await newWorld())
  const { provider, world, service } = family
  const set = await newSet(family)
  await settleSet(provider, set)
  process.kill(await postmasterPid(world, service), 'SIGKILL')
  process.kill(await nodePid(world, set), 'SIGKILL')
  await until(async () => (await provider.replica_set.apply(set)).state === 'serving', { what: 'it serves again' })
  expect(await provider.replica_set.apply(set)).toMatchObject({ state: 'serving', settled: false })
  expect(await readFrom(provider, set, 'select n from t')).toBe('7')
  await settle(provider, service)
  expect(await settleSet(provider, set)).toMatchObject({ state: 'serving' })
})

test('several nodes at every address of the host are refused with a sentence', async () => {
  const family = await newFamily(await newWorld())
  const { port } = await newEndpoint(family.provider, new Set([family.service.home.port]))
  const everywhere = { host: '0.0.0.0', port }
  const set = await newSet(family, { nodes: 2, home: everywhere, reach: everywhere })
  const observed = await family.provider.replica_set.apply(set)
  expect(observed).toMatchObject({ state: 'absent', settled: false })
  expect(observed.waiting_for).toContain('set the service host to one')
})

test('a set that is deleted while its first node is copied leaves nothing', async () => {
  const { promise: copying, resolve: begun } = Promise.withResolvers<void>()
  const { promise: may_go_on, resolve: goOn } = Promise.withResolvers<void>()
  onTestFinished(() => goOn())
  let armed = false
  const family = await newFamily(await newWorld(), {
    effect: async (name) => {
      if (!armed || name !== 'copy: files') return
      begun()
      await may_go_on
    },
  })
  const { provider, world, service } = family
  await settle(provider, service)
  const set = await newSet(family)
  armed = true
  expect(await provider.replica_set.apply(set)).toMatchObject({ state: 'absent', settled: false })
  await copying
  const removing = provider.replica_set.apply({ ...set, deleted: true })
  goOn()
  expect(await removing).toMatchObject({ state: 'absent', settled: true })
  expect(await tracesOf(world, set)).toEqual([])
  expect(await ask(provider, service, 'select count(*) from pg_replication_slots')).toBe('0')
})
