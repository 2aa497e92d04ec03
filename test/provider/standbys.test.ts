// The replicas of a service by provider calls alone, on real PostgreSQL: made, kept streaming whatever happens to them,
// waited for by commits, and removed when they are not wanted any more.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { signalIfThere } from '#providers/host/daemon.ts'
import { nodeOf } from '#providers/local/host/layout.ts'
import { withSuperuser } from '#providers/local/postgres/superuser.ts'
import { until } from '#test/until.ts'
import { as_root, ask, loginTo, newWanted, noProcessBelow, settle, useWorlds } from './service-fixture.ts'
import { verifierOf } from './wanted.ts'
import { homeOf, nodeFoldersOf, nodePid, standbysOf, walReceiverOf, withReplicas } from './standby-fixture.ts'

const { newWorld } = useWorlds()

test('replicas are added and taken away, and commits wait for as many as they should', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const alone = await newWanted(provider, { size: 'shared' })
  expect((await settle(provider, alone)).state).toBe('serving')
  await ask(provider, alone, 'create table t as select 7 as n')

  const two = withReplicas(alone, 2, 2, 1)
  expect((await settle(provider, two)).state).toBe('serving')
  expect(await standbysOf(provider, two)).toEqual({ node_1: 'streaming', node_2: 'streaming' })
  expect(await ask(provider, two, 'show synchronous_standby_names')).toBe('ANY 1 (node_0, node_1, node_2)')
  expect(await nodeFoldersOf(world, two)).toEqual(['node-1', 'node-2'])

  const one = withReplicas(alone, 3, 1, 1)
  expect((await settle(provider, one)).state).toBe('serving')
  expect(await ask(provider, one, 'show synchronous_standby_names')).toBe('ANY 1 (node_0, node_1)')
  expect(await nodeFoldersOf(world, one)).toEqual(['node-1'])
  expect(await ask(provider, one, 'select count(*) from pg_replication_slots')).toBe('1')

  const none = withReplicas(alone, 4, 0, 0)
  expect((await settle(provider, none)).state).toBe('serving')
  expect(await ask(provider, none, 'show synchronous_standby_names')).toBe('')
  expect(await ask(provider, none, 'select count(*) from pg_replication_slots')).toBe('0')
  expect(await nodeFoldersOf(world, none)).toEqual([])
  expect(await ask(provider, none, 'insert into t values (8) returning n')).toBe('8')
  expect((await settle(provider, { ...none, deleted: true })).state).toBe('absent')
  expect(await readdir(join(world.directory, 'run'))).toEqual([])
  await noProcessBelow(world.directory)
})

test('commits wait while the replica that they need is away, and only the promised ones', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = withReplicas(await newWanted(provider, { size: 'shared' }), 1, 1, 1)
  await settle(provider, wanted)
  await ask(provider, wanted, 'create table t (n int)')
  process.kill(await nodePid(world, wanted, 1), 'SIGKILL')
  const [waiting, watcher] = [await loginTo(provider, wanted), await loginTo(provider, wanted)]
  const count = async (what: string) =>
    (await watcher.query<{ n: number }>(`select count(*)::int as n from ${what}`)).rows[0]?.n
  // Its processes outlive the first of them for a moment, in which they may still confirm a commit.
  await until(async () => (await count('pg_stat_replication')) === 0, { what: 'the replica is away' })
  let committed = false
  const commit = waiting.query('insert into t values (1)').then(() => (committed = true))
  const waits = `pg_stat_activity where wait_event = 'SyncRep'`
  await until(async () => (await count(waits)) === 1, { what: 'the commit waits' })
  expect(committed).toBe(false)
  await watcher.end()
  // Less is wanted now: waiting commits return, though the replica may not be back yet.
  await provider.service.apply(withReplicas(wanted, 2, 1, 0))
  await commit
  await waiting.end()
  await settle(provider, withReplicas(wanted, 2, 1, 0))
  expect(await ask(provider, wanted, 'select count(*) from t')).toBe('1')
})

test('no change to commits that wait is settled before they do, as long as the checkpointer has not read it', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = await newWanted(provider, { size: 'shared' })
  await settle(provider, withReplicas(wanted, 1, 1, 0))
  await ask(provider, wanted, 'create table t (n int)')
  const checkpointer = Number(
    await ask(provider, wanted, `select pid from pg_stat_activity where backend_type = 'checkpointer'`),
  )
  process.kill(checkpointer, 'SIGSTOP')
  onTestFinished(() => signalIfThere(checkpointer, 'SIGCONT'))
  const synchronous = withReplicas(wanted, 2, 1, 1)
  expect((await provider.service.apply(synchronous)).settled).toBe(false)
  const receiver = await walReceiverOf(await nodePid(world, wanted, 1))
  process.kill(receiver, 'SIGSTOP')
  // Its session has the new setting; but the commit does not wait.
  expect(await ask(provider, wanted, 'insert into t values (1) returning n')).toBe('1')
  process.kill(receiver, 'SIGCONT')
  process.kill(checkpointer, 'SIGCONT')
  await settle(provider, synchronous)
})

test('a service with replicas is stopped, started, resized and gets another password as one', async () => {
  const world = await newWorld()
  const effects: string[] = []
  const provider = await world.open({ effect: (name) => void effects.push(name) })
  const small = withReplicas(await newWanted(provider, { size: 'shared' }), 1, 1, 1)
  await settle(provider, small)
  await ask(provider, small, 'create table t as select 7 as n')
  // The next pass makes what the next service may need.
  await provider.service.apply(small)
  effects.length = 0
  expect(await provider.service.apply(small)).toMatchObject({ state: 'serving', settled: true, events: [] })
  expect(new Set(effects.filter((name) => !name.startsWith('spare: ')))).toEqual(new Set(['limits: set']))

  const off = { ...small, generation: 2, power: 'off' as const }
  expect((await settle(provider, off)).state).toBe('stopped')
  await noProcessBelow(world.directory)
  expect((await settle(provider, { ...small, generation: 3 })).state).toBe('serving')
  expect(await standbysOf(provider, small)).toEqual({ node_1: 'streaming' })

  // Up and down again: 50, 400 and 100 connections, so that each way something must not be too low for a moment.
  for (const [generation, memory_gbs] of [
    [4, 8],
    [5, 2],
  ] as const) {
    const resized = { ...small, generation, size: { cpu_millis: memory_gbs * 250, memory_gbs } }
    expect((await settle(provider, resized)).events).toEqual([])
    expect(await ask(provider, resized, 'show max_connections')).toBe(String(50 * memory_gbs))
    expect(await standbysOf(provider, resized)).toEqual({ node_1: 'streaming' })
    const settings = join(homeOf(world, small), 'node-1', 'howdah.conf')
    await until(async () => {
      await provider.service.apply(resized)
      return (await readFile(settings, 'utf8')).includes(`max_connections = '${50 * memory_gbs}'`)
    })
  }
  const changed = { ...small, generation: 6, password_verifier: verifierOf('second password') }
  await settle(provider, changed)
  expect(await ask(provider, changed, 'select n from t', { password: 'second password' })).toBe('7')
})

test('a delete while a replica is being copied leaves nothing', async () => {
  const world = await newWorld()
  const { promise: copying, resolve } = Promise.withResolvers<undefined>()
  const effect = (name: string) => {
    if (name === 'copy: files') resolve(undefined)
  }
  const provider = await world.open({ effect })
  const alone = await newWanted(provider, { size: 'shared' })
  await settle(provider, alone)
  const passing = provider.service.apply(withReplicas(alone, 2, 2, 0))
  await copying
  // The caller owns the lease: one pass follows the other.
  await passing
  expect((await settle(provider, { ...alone, generation: 3, deleted: true })).state).toBe('absent')
  expect(await readdir(join(world.directory, 'services'))).toEqual([])
  expect(await readdir(join(world.directory, 'run'))).toEqual([])
  await noProcessBelow(world.directory)
})

test('a replica is copied though its primary reuses its WAL meanwhile', async () => {
  const world = await newWorld()
  const effects: string[] = []
  let reuse: (() => Promise<void>) | undefined
  const effect = async (name: string) => {
    effects.push(name)
    if (name === 'copy: end backup') await reuse?.()
  }
  const provider = await world.open({ effect })
  const alone = await newWanted(provider, { size: 'shared' })
  await settle(provider, alone)
  await ask(provider, alone, 'create table t as select generate_series(1, 1000) as n')
  const node = nodeOf(world.directory, alone.service_id, alone.home.port, as_root)
  const files = async () => (await readdir(join(node.data, 'pg_wal'))).filter((name) => name.length === 24).toSorted()
  reuse = async () => {
    const [first] = await files()
    await withSuperuser(node, {}, async (client) => {
      // Its WAL is kept for the replica, but not for ever.
      await client.query(`select pg_drop_replication_slot('node_1')`)
      await until(async () => {
        await client.query(`select pg_logical_emit_message(false, 'test', ''), pg_switch_wal()`)
        await client.query('checkpoint')
        return (await files())[0] !== first
      })
    })
  }
  const one = withReplicas(alone, 2, 1, 0)
  expect((await settle(provider, one)).state).toBe('serving')
  expect(effects.filter((name) => name === 'copy: end backup')).toHaveLength(1)
  expect(await standbysOf(provider, one)).toEqual({ node_1: 'streaming' })
})
