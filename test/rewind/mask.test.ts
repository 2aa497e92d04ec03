// Masked forks, and forks that are made anew: what a mask hides is never seen, whoever dies meanwhile.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { listHostProcesses, wordsOf } from '#providers/host/process.ts'
import { nodeOf, preparedOf } from '#providers/local/host/layout.ts'
import { newSession } from '#providers/local/postgres/superuser.ts'
import type { WantedService } from '#providers/provider.ts'
import { apply } from '#test/provider/apply.ts'
import { as_root, ask, newWanted, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'

const { newWorld } = useWorlds()

test('a fork is masked before it serves, and again when it is reset', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const parent = await newWanted(provider, { size: 'shared' })
  await settle(provider, parent)
  await ask(provider, parent, `create table people as select 1 as id, 'Ada' as name`)
  await ask(provider, parent, `create table guests as select 'Mary' as name from generate_series(1, 9)`)
  await ask(provider, parent, 'analyze guests')
  const source = { service_id: parent.service_id, moment: 'now' as const }
  // As its owner: the table it makes is the owner's, too.
  const mask = `create table masked_by as select current_user as who, session_user <> 'postgres' as plain;
    update people set name = 'person ' || id; delete from guests`
  const child = await newWanted(provider, {
    size: 'shared',
    source,
    mask,
    snapshots: [{ snapshot_id: 'own', deleted: false }],
  })
  // Dies while it masks, and after: never is there data of the fork's that is not masked.
  for (const effect of ['mask: run', 'masked: write aside', 'prepared data ready: write aside']) {
    expect((await apply(world, { services: [child] }, { effect, nth: 1 })).died, effect).toBe(true)
    expect(readdirSync(join(world.directory, 'services', child.service_id))).not.toContain('data')
  }
  await settle(provider, child)
  expect(await ask(provider, child, 'select name from people')).toBe('person 1')
  // Nor do the statistics of the planner tell, which of an empty table nothing else renews.
  expect(await ask(provider, child, `select count(*) from pg_stats where most_common_vals::text ~ 'Mary'`)).toBe('0')
  expect(await ask(provider, child, `select who || ' ' || plain from masked_by`)).toBe('tsdbadmin true')
  expect(await ask(provider, child, `select tableowner from pg_tables where tablename = 'masked_by'`)).toBe('tsdbadmin')
  expect(await ask(provider, child, `select count(*) from pg_roles where rolname like 'howdah_query%'`)).toBe('0')

  await ask(provider, child, 'drop table people')
  await ask(provider, parent, `insert into people values (2, 'Grace')`)
  const snapshots = [
    { snapshot_id: 'own', deleted: true },
    { snapshot_id: 'new', deleted: false },
  ]
  const exchange = { exchange_id: 'reset', source }
  const reset: WantedService = { ...child, generation: 2, exchange, snapshots }
  expect((await apply(world, { services: [reset] }, { effect: 'history before: rename away', nth: 2 })).died).toBe(true)
  await settle(provider, reset)
  const observed = await until(async () => {
    const seen = await provider.service.apply(reset)
    return seen.snapshots.some(({ state }) => state === 'complete') && seen
  })
  expect(await ask(provider, reset, 'select array_agg(name order by id) from people')).toBe('person 1,person 2')
  const taken = observed.snapshots.flatMap((one) => (one.state === 'complete' ? one.taken_at : []))
  expect(observed.restorable).toEqual({ from: taken[0], until: 'now' })
  const left = readdirSync(join(world.directory, 'services', child.service_id))
  expect(left.filter((name) => /prepared|before|gone|\.new$/.test(name))).toEqual([])
})

test('a mask may do what the owner may: more fails, and the fork stays closed', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const parent = await newWanted(provider, { size: 'shared' })
  await settle(provider, parent)
  const source = { service_id: parent.service_id, moment: 'now' as const }
  const attacks = {
    'reset session authorization; copy (select 1) to program $$true$$':
      'permission denied to COPY to or from an external program',
    'set session authorization postgres': 'permission denied to set session authorization "postgres"',
    'rollback; create role intruder superuser': 'permission denied to create role',
    'begin; this is no SQL': 'syntax error at or near "this"',
    [`select repeat('x', 1000000) from generate_series(1, 300)`]: 'its statements answer more than 256 MB',
  }
  for (const [mask, refused] of Object.entries(attacks)) {
    const child = await newWanted(provider, { size: 'shared', source, mask })
    const seen = await until(async () => {
      const observed = await provider.service.apply(child)
      return observed.failed && observed
    })
    expect(seen.waiting_for).toContain(`the mask failed: ${refused}`)
    expect(seen.state).toBe('absent')
    await expect(ask(provider, child, 'select 1')).rejects.toThrow('ECONNREFUSED')
    await settle(provider, { ...child, deleted: true })
  }
})

test('a mask whose session is told to end, as by a machine that goes down, has not failed', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const parent = await newWanted(provider, { size: 'shared' })
  await settle(provider, parent)
  await ask(provider, parent, `create table people as select 'Ada' as name`)
  const source = { service_id: parent.service_id, moment: 'now' as const }
  const mask = `update people set name = 'not ' || name; select pg_sleep(2)`
  const child = await newWanted(provider, { size: 'shared', source, mask })
  const settled = settle(provider, child)
  const session = await until(async () => {
    const titles = (await listHostProcesses()).map((one) => ({ ...one, title: wordsOf(one).join(' ') }))
    return titles.find(({ title }) => title.includes(`howdah/${child.service_id}/`) && title.includes('SELECT'))
  })
  process.kill(session.pid, 'SIGTERM')
  await settled
  expect(await ask(provider, child, 'select name from people')).toBe('not Ada')
})

test('a mask has not failed when the statistics cannot be removed for a while', async () => {
  const world = await newWorld()
  let lock: pg.Client | undefined
  const effect = async (name: string) => {
    if (name !== 'mask: forget statistics' || lock) return
    const prepared = preparedOf(nodeOf(world.directory, child.service_id, child.home.port, as_root))
    lock = newSession(prepared, { database: 'tsdb' })
    await lock.connect()
    await lock.query('begin; lock table pg_catalog.pg_statistic in share mode')
  }
  const provider = await world.open({ effect })
  const parent = await newWanted(provider, { size: 'shared' })
  await settle(provider, parent)
  const source = { service_id: parent.service_id, moment: 'now' as const }
  const child = await newWanted(provider, { size: 'shared', source, mask: 'create table masked ()' })
  await settle(provider, child)
  expect(await ask(provider, child, 'select count(*) from masked')).toBe('0')
  expect(lock).toBeDefined()
})
