// Every verb of a service once on a real cluster, with a client that verifies the server, and the seconds that each took.
import { expect, onTestFinished, test } from 'vitest'
import type { Provider, WantedService } from '#providers/provider.ts'
import { newEndpoint } from '#test/addresses.ts'
import { verifierOf, wantedSetAt } from '#test/provider/wanted.ts'
import { until } from '#test/until.ts'
import { openStore } from '#providers/kubernetes/store/store.ts'
import { loginAt, openRig, rig_settings } from './rig-region.ts'
import { newTestId, newWanted } from './wanted.ts'

const patience_ms = 600_000
const times: string[] = []

async function settle<Wanted>(
  apply: (wanted: Wanted) => Promise<{ settled: boolean; state: string }>,
  wanted: Wanted,
  what: string,
) {
  const begun = performance.now()
  const observed = await until(
    async () => {
      const one = await apply(wanted)
      if (process.env['RIG_TALK']) process.stdout.write(`${what}: ${JSON.stringify(one)}\n`)
      return one.settled && one
    },
    { what, timeout_ms: patience_ms, interval_ms: 300 },
  )
  times.push(`${what}: ${((performance.now() - begun) / 1000).toFixed(1)} s`)
  process.stdout.write(`${times.at(-1)}\n`)
  return observed
}

async function timed(what: string, work: () => Promise<unknown>): Promise<void> {
  const begun = performance.now()
  await work()
  process.stdout.write(`${what}: ${((performance.now() - begun) / 1000).toFixed(1)} s\n`)
}

async function takenFrom(provider: Provider, wanted: WantedService, what: string): Promise<void> {
  wanted.snapshots = [...wanted.snapshots, { snapshot_id: newTestId(), deleted: false }]
  const isTaken = async () =>
    (await provider.service.apply(wanted)).snapshots.every(({ state }) => state === 'complete')
  await timed(what, () => until(isTaken, { what, timeout_ms: patience_ms, interval_ms: 500 }))
}

test(
  'a service lives its whole life',
  async () => {
    const rig = await openRig()
    onTestFinished(rig.close)
    const provider = await rig.open()
    await until(() => provider.facts().postgres_versions.length > 0, { what: 'the facts are read' })
    const wanted = await newWanted(provider, { extensions: ['vector'] })
    const { ca_pem } = rig
    const change = async (what: string, parts: Partial<WantedService>) => {
      Object.assign(wanted, parts, { generation: wanted.generation + 1 })
      return await settle((one) => provider.service.apply(one), wanted, what)
    }
    const ask = async (sql: string, at = wanted.reach, database = 'tsdb', password = 'first password') => {
      const login = await loginAt({ at, password, ca_pem, database })
      try {
        return (await login.query<Record<string, unknown>>(sql)).rows
      } finally {
        await login.end()
      }
    }
    expect((await change('create', {})).state).toBe('serving')
    expect(await ask('select rolsuper, rolcreaterole from pg_roles where rolname = current_user')).toEqual([
      { rolsuper: false, rolcreaterole: true },
    ])
    expect(await ask('select extname from pg_extension where extname = $$vector$$')).toHaveLength(1)
    await ask('create table kept as select 7 as n')

    await change('resize', { size: { cpu_millis: 500, memory_gbs: 2 } })
    expect(await ask('select n, current_setting($$shared_buffers$$) as buffers from kept')).toEqual([
      { n: 7, buffers: '512MB' },
    ])
    await change('back to shared', { size: 'shared' })

    await change('password', { password_verifier: verifierOf('second password') })
    await expect(ask('select 1')).rejects.toThrow(/password authentication failed/)
    expect(await ask('select n from kept', wanted.reach, 'tsdb', 'second password')).toEqual([{ n: 7 }])
    await change('password back', { password_verifier: verifierOf('first password') })

    const pooler = await newEndpoint(provider)
    await change('pooler on', { pooler })
    expect(await ask('select n from kept', pooler)).toEqual([{ n: 7 }])
    expect(await ask('select n from kept', pooler, 'tsdb_transaction')).toEqual([{ n: 7 }])

    await change('HA, one synchronous replica', { ha: { replica_count: 1, sync_replica_count: 1, switchovers: 0 } })
    expect(await ask('select sync_state from pg_stat_replication')).toEqual([{ sync_state: 'quorum' }])
    await change('switchover', { ha: { replica_count: 1, sync_replica_count: 1, switchovers: 1 } })
    expect(await ask('select n from kept')).toEqual([{ n: 7 }])
    await change('no HA', { ha: { replica_count: 0, sync_replica_count: 0, switchovers: 1 } })

    const home = await newEndpoint(provider)
    const set = wantedSetAt(home, wanted, { replica_set_id: newTestId() })
    await settle((one) => provider.replica_set.apply(one), set, 'replica set')
    expect(await ask('select n, pg_is_in_recovery() as reads from kept', home)).toEqual([{ n: 7, reads: true }])
    await settle((one) => provider.replica_set.apply(one), { ...set, deleted: true }, 'replica set deleted')

    const fork = await newWanted(provider, {
      source: { service_id: wanted.service_id, moment: 'now' },
    })
    await settle((one) => provider.service.apply(one), fork, 'fork of now')
    expect(await ask('select n from kept', fork.reach)).toEqual([{ n: 7 }])

    await takenFrom(provider, wanted, 'snapshot')
    const early = await newWanted(provider, {
      source: { service_id: wanted.service_id, moment: { snapshot_id: wanted.snapshots[0]?.snapshot_id ?? '' } },
    })
    await settle((one) => provider.service.apply(one), early, 'fork of a snapshot')
    expect(await ask('select n from kept', early.reach)).toEqual([{ n: 7 }])
    await settle((one) => provider.service.apply(one), { ...early, deleted: true }, 'fork of a snapshot deleted')

    await ask('insert into kept values (8)')
    const [{ at }] = (await ask(
      `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at`,
    )) as [{ at: string }]
    await ask('insert into kept values (9)')
    const isArchived = async () => {
      const { restorable } = await provider.service.apply(wanted)
      return typeof restorable === 'object' && restorable.until !== 'now' && restorable.until.toISOString() > at
    }
    await timed('the moment is in the archive', () =>
      until(isArchived, { what: 'archived', timeout_ms: patience_ms, interval_ms: 1000 }),
    )
    const past = await newWanted(provider, {
      source: { service_id: wanted.service_id, moment: { at } },
    })
    await settle((one) => provider.service.apply(one), past, 'fork of a time')
    expect(await ask('select n from kept order by n', past.reach)).toEqual([{ n: 7 }, { n: 8 }])
    await settle((one) => provider.service.apply(one), { ...past, deleted: true }, 'fork of a time deleted')

    expect((await change('stop', { power: 'off' })).state).toBe('stopped')
    const of_paused = await newWanted(provider, {
      source: { service_id: wanted.service_id, moment: 'now' },
    })
    await settle((one) => provider.service.apply(one), of_paused, 'fork of now, of a paused service')
    expect(await ask('select n from kept order by n', of_paused.reach)).toEqual([{ n: 7 }, { n: 8 }, { n: 9 }])
    await settle((one) => provider.service.apply(one), { ...of_paused, deleted: true }, 'fork of a paused one deleted')
    expect((await change('start', { power: 'on' })).state).toBe('serving')
    expect(await ask('select min(n) as n from kept')).toEqual([{ n: 7 }])
    expect(await ask('select min(n) as n from kept', pooler)).toEqual([{ n: 7 }])

    expect((await change('delete', { deleted: true })).state).toBe('absent')
    const fork_off = { ...fork, generation: 2, power: 'off' as const }
    await settle((one) => provider.service.apply(one), fork_off, 'stop of the fork, without its parent')
    await settle(
      (one) => provider.service.apply(one),
      { ...fork, generation: 3 },
      'start of the fork, without its parent',
    )
    expect(await ask('select n from kept', fork.reach)).toEqual([{ n: 7 }])
    await settle((one) => provider.service.apply(one), { ...fork, deleted: true }, 'fork deleted')
    const namespace = rig.namespaceOf(wanted)
    const { store } = rig_settings
    expect(store && (await openStore(rig.client, store).list(`${store.prefix}/${namespace}/`))).toEqual([])
    await until(async () => (await rig.client.find({ kind: 'Namespace', name: namespace })) === undefined, {
      what: 'the namespace is gone',
    })
  },
  4 * patience_ms,
)
