// A change of the primary as pooled clients see it: a short wait when it was planned, and the end of transactions under way
// when it was not.
import { expect } from 'vitest'
import { settle, useWorlds } from '#test/provider/service-fixture.ts'
import { nodePid } from '#test/provider/standby-fixture.ts'
import { rewindTo, takenAt } from '#test/rewind/rewinding.ts'
import { momentNow, until } from '#test/until.ts'
import { loginThrough, newPooled, poolerPid, poolerTest } from './pooled.ts'

const { newWorld } = useWorlds()

poolerTest(
  'a planned change of the primary disconnects no client, and after a failover the next query works',
  async () => {
    const world = await newWorld()
    const ha = { replica_count: 1, sync_replica_count: 1, switchovers: 0 }
    const pooled = await newPooled(world, { ha })
    const { provider, wanted } = pooled
    const pid = await poolerPid(world, wanted)
    const client = await loginThrough(pooled, { database: 'tsdb_transaction' })
    const count = async () => (await client.query<{ n: number }>('select count(*)::int as n from t')).rows[0]?.n
    await client.query('create table t (n serial)')

    const changed = new AbortController()
    const inserting = (async () => {
      let inserted = 0
      for (; !changed.signal.aborted; inserted++) await client.query('insert into t select from pg_sleep(0.01)')
      return inserted
    })().catch(String)
    await settle(provider, { ...wanted, generation: 2, ha: { ...ha, switchovers: 1 } })
    changed.abort()
    expect(await inserting).toBe(await count())

    // No transaction is open: an idle client does not even notice.
    process.kill(await nodePid(world, wanted, 1), 'SIGKILL')
    await until(async () => {
      const { events } = await provider.service.apply({ ...wanted, generation: 2, ha: { ...ha, switchovers: 1 } })
      return events.some(({ kind }) => kind === 'elected')
    })
    await client.query('insert into t default values')
    expect(await poolerPid(world, wanted)).toBe(pid)
    await client.end()
  },
)

poolerTest('clients wait while the service that they use is rewound', async () => {
  const world = await newWorld()
  const pooled = await newPooled(world, { snapshots: [{ snapshot_id: 'first', deleted: false }] })
  const { provider, wanted } = pooled
  await takenAt(provider, wanted, 'first')
  const pid = await poolerPid(world, wanted)
  const client = await loginThrough(pooled, { database: 'tsdb_transaction' })
  const rows = async () => (await client.query<{ n: number }>('select n from t order by n')).rows.map(({ n }) => n)
  await client.query('create table t as select 1 as n')
  const after_1 = await momentNow()
  await client.query('insert into t values (2)')

  const changed = new AbortController()
  const asking = (async () => {
    const seen = new Set<number>()
    while (!changed.signal.aborted) for (const n of await rows()) seen.add(n)
    return [...seen]
  })().catch(String)
  await rewindTo(provider, wanted, after_1, 'before')
  changed.abort()
  expect(await asking).toEqual([1, 2])
  expect(await rows()).toEqual([1])
  expect(await poolerPid(world, wanted)).toBe(pid)
  await client.end()
})
