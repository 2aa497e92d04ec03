// What else there is of a service with replicas: its snapshots and forks, the logs of its nodes, what they use, and that all
// of it goes on with another primary. Real PostgreSQL, provider calls alone.
import { expect, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import type { LogPage, LogQuery } from '#providers/log.ts'
import type { WantedService } from '#providers/provider.ts'
import { until } from '#test/until.ts'
import { ask, newWanted, settle, useWorlds } from './service-fixture.ts'
import { nodeFoldersOf, nodePid, standbysOf, withReplicas } from './standby-fixture.ts'

const { newWorld } = useWorlds()

const everything: LogQuery = { skip: 0, limit: 100, search: [], severities: [] }

test('a service whose primary was lost is snapshotted, forked, logged and measured as before, and shrinks to it', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = withReplicas(await newWanted(provider, { size: 'shared' }), 1, 1, 1)
  await settle(provider, wanted)
  await ask(provider, wanted, 'create table t as select 7 as n')
  const newest = await pageOf(provider, wanted, { limit: 2 })
  const older = await pageOf(provider, wanted, { cursor: newest.cursor })
  process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
  // It may be down: its log is there.
  expect(await messages(provider, wanted, { node: 0 })).toEqual(expect.arrayContaining(messagesOf(older)))
  await until(async () => (await provider.service.apply(wanted)).settled)
  expect(await standbysOf(provider, wanted)).toEqual({ node_0: 'streaming' })
  // A cursor goes on in the log it was given for, whichever node is the primary now.
  expect(older.entries.length).toBeGreaterThan(0)
  expect(await pageOf(provider, wanted, { cursor: newest.cursor })).toEqual({ ...older, placed: expect.any(Function) })

  const snapshots = [{ snapshot_id: 'first', deleted: false }]
  const kept = { ...wanted, generation: 2, snapshots }
  await until(async () => (await provider.service.apply(kept)).snapshots[0]?.state === 'complete')
  const source = { service_id: wanted.service_id, moment: { snapshot_id: 'first' } }
  const fork = await newWanted(provider, { size: 'shared', source })
  await settle(provider, fork)
  expect(await ask(provider, fork, 'select n from t')).toBe('7')
  expect(await ask(provider, fork, 'show synchronous_standby_names')).toBe('')

  expect(await messages(provider, wanted, {})).toContain('database system is ready to accept connections')
  expect(await messages(provider, wanted, { node: 0 })).toContain('entering standby mode')
  expect(await provider.logs.page(wanted.service_id, { ...everything, node: 2 })).toEqual({ refused: 'node' })

  const measured = await provider.metrics([wanted, fork])
  const memory = (one: WantedService) => measured.get(one.service_id)?.memory_usage_bytes ?? 0
  expect(memory(wanted)).toBeGreaterThan(1.3 * memory(fork))

  const alone = { ...kept, ha: { replica_count: 0, sync_replica_count: 0, switchovers: 0 }, generation: 3 }
  await settle(provider, alone)
  expect(await standbysOf(provider, alone)).toEqual({})
  expect(await nodeFoldersOf(world, alone)).toEqual(['node-1'])
  expect(await ask(provider, alone, 'insert into t values (8) returning n')).toBe('8')
  await settle(provider, withReplicas(kept, 4, 1, 0))
  expect(await standbysOf(provider, alone)).toEqual({ node_0: 'streaming' })
})

test('moments before and after the loss of a primary can be restored from a snapshot of before', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const snapshots = [{ snapshot_id: 'first', deleted: false }]
  const wanted = withReplicas(await newWanted(provider, { size: 'shared', snapshots }), 1, 1, 1)
  await settle(provider, wanted)
  await until(async () => (await provider.service.apply(wanted)).snapshots[0]?.state === 'complete')
  const now = async () => {
    const text = await ask(provider, wanted, `select to_char(clock_timestamp(), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`)
    await ask(provider, wanted, 'select txid_current()')
    return text
  }
  await ask(provider, wanted, 'create table t as select 1 as n')
  const before = await now()
  await ask(provider, wanted, 'insert into t values (2)')
  await ask(provider, wanted, 'insert into t values (3)')
  process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
  await until(async () => (await provider.service.apply(wanted)).settled)
  await ask(provider, wanted, 'insert into t values (4)')
  const after = await now()
  await ask(provider, wanted, 'insert into t values (5)')
  for (const [at, sum] of [
    [before, '1'],
    [after, '10'],
  ] as const) {
    const source = { service_id: wanted.service_id, moment: { at } }
    const fork = await newWanted(provider, { size: 'shared', source })
    await settle(provider, fork)
    expect(await ask(provider, fork, 'select sum(n) from t')).toBe(sum)
  }
})

async function messages(provider: LocalProvider, wanted: WantedService, query: Partial<LogQuery>): Promise<string[]> {
  return messagesOf(await pageOf(provider, wanted, query))
}

const messagesOf = ({ entries }: LogPage) => entries.map(({ message }) => message)

async function pageOf(
  provider: LocalProvider,
  { service_id }: WantedService,
  query: Partial<LogQuery>,
): Promise<LogPage> {
  const page = await provider.logs.page(service_id, { ...everything, ...query })
  if (!('entries' in page)) throw new Error(JSON.stringify(page))
  return page
}
