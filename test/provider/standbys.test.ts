// The replicas of a service by provider calls alone, on real PostgreSQL: made, kept streaming whatever happens to them,
// waited for by commits, and gone when they are not wanted any more.
import { readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import type { WantedService } from '#providers/provider.ts'
import { until } from '#test/until.ts'
import { ask, newWanted, noProcessBelow, settle, useWorlds, type World } from './service-fixture.ts'

const { newWorld } = useWorlds()

test('replicas are added and taken away, and commits wait for as many as they should', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const alone = await newWanted(provider, { size: 'shared' })
  expect((await settle(provider, alone)).state).toBe('serving')
  await ask(provider, alone, 'create table t as select 7 as n')

  const two = withReplicas(alone, 2, 2, 1)
  expect((await settle(provider, two)).state).toBe('serving')
  expect(await standbysOf(world, provider, two)).toEqual({ node_1: 'streaming', node_2: 'streaming' })
  expect(await ask(provider, two, 'show synchronous_standby_names')).toBe('ANY 1 (node_0, node_1, node_2)')
  expect(await foldersOf(world, two)).toEqual(['node-1', 'node-2'])

  const one = withReplicas(alone, 3, 1, 1)
  expect((await settle(provider, one)).state).toBe('serving')
  expect(await ask(provider, one, 'show synchronous_standby_names')).toBe('ANY 1 (node_0, node_1)')
  expect(await foldersOf(world, one)).toEqual(['node-1'])
  expect(await ask(provider, one, 'select count(*) from pg_replication_slots')).toBe('1')

  const none = withReplicas(alone, 4, 0, 0)
  expect((await settle(provider, none)).state).toBe('serving')
  expect(await ask(provider, none, 'show synchronous_standby_names')).toBe('')
  expect(await ask(provider, none, 'select count(*) from pg_replication_slots')).toBe('0')
  expect(await foldersOf(world, none)).toEqual([])
  expect(await ask(provider, none, 'insert into t values (8) returning n')).toBe('8')
  expect((await settle(provider, { ...none, deleted: true })).state).toBe('absent')
  expect(await readdir(join(world.directory, 'run'))).toEqual([])
  await noProcessBelow(world.directory)
})

function withReplicas(
  wanted: WantedService,
  generation: number,
  replica_count: number,
  sync_replica_count: number,
): WantedService {
  return { ...wanted, generation, ha: { replica_count, sync_replica_count, switchovers: 0 } }
}

const homeOf = (world: World, { service_id }: WantedService) => join(world.directory, 'services', service_id)

async function foldersOf(world: World, wanted: WantedService): Promise<string[]> {
  return (await readdir(homeOf(world, wanted))).filter((name) => name.startsWith('node-')).toSorted()
}

/** By the primary's own word: who follows it, and how. */
async function standbysOf(_: World, provider: LocalProvider, wanted: WantedService): Promise<Record<string, string>> {
  const sql = `select coalesce(json_object_agg(application_name, state order by application_name), '{}')::text
    from pg_stat_replication`
  return JSON.parse(await ask(provider, wanted, sql)) as Record<string, string> // as the statement makes it
}
