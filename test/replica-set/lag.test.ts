// How far the nodes of a set are behind, as it is measured: of each node, at every call, over one session.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { nodeAt, nodeOf, listeningAt } from '#providers/local/host/layout.ts'
import { withSuperuser } from '#providers/local/postgres/superuser.ts'
import { as_root, ask, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { pidIn } from '#test/traces.ts'
import { until } from '#test/until.ts'
import { newFamily, newSet, settleSet } from './set-fixture.ts'

const { newWorld } = useWorlds()

test('a node that stands still is behind at the next call, and no call has a session of its own', async () => {
  const family = await newFamily(await newWorld())
  const { provider, service, world } = family
  const set = await newSet(family)
  await settleSet(provider, set)
  const measure = async (has_standbys = true) =>
    (await provider.metrics([{ ...service, has_standbys }])).get(service.service_id)
  const lag = async () => (await measure())?.replica_lags?.[0]?.bytes
  const nodeOn = (id: string, port: number) =>
    listeningAt(nodeOf(world.directory, id, service.home.port, as_root), port)
  const primary = nodeAt(nodeOn(service.service_id, service.home.port), 0, 'primary')
  const node = nodeAt(nodeOn(set.replica_set_id, set.home.port), 0, 'standby')
  /** The control plane's sessions that stay; others end a moment after they have asked. */
  const askers = (count: number) =>
    until(async () => {
      const pids = await withSuperuser(primary, {}, async (client) => {
        const { rows } = await client.query<{ pid: number }>(
          `select pid from pg_stat_activity
           where usename = 'postgres' and backend_type = 'client backend' and pid <> pg_backend_pid()`,
        )
        return rows.map(({ pid }) => pid)
      })
      return pids.length === count && pids
    })

  expect(await measure(false)).not.toHaveProperty('replica_lags')
  await askers(0)
  await until(async () => (await lag()) === 0)
  const [asker] = await askers(1)

  await withSuperuser(node, {}, (client) => client.query('select pg_wal_replay_pause()'))
  await ask(provider, service, 'insert into t select generate_series(1, 10000)')
  const behind = await measure()
  const { replica_set_id } = set
  expect(behind?.replica_lags).toEqual([
    {
      replica_set_id,
      node: 0,
      bytes: expect.any(Number),
      seconds: expect.any(Number),
      state: 'streaming',
      is_sync: false,
    },
  ])
  expect(behind?.replica_lags?.[0]?.bytes).toBeGreaterThan(100_000)
  expect(behind?.replication_lag_bytes).toBe(behind?.replica_lags?.[0]?.bytes)
  await withSuperuser(node, {}, (client) => client.query('select pg_wal_replay_resume()'))
  await until(async () => (await lag()) === 0)
  expect(await askers(1)).toEqual([asker])

  process.kill(pidIn(await readFile(join(primary.data, 'postmaster.pid'), 'utf8')), 'SIGKILL')
  await until(async () => (await lag()) === undefined)
  await settle(provider, service)
  await until(async () => (await lag()) === 0)
  await askers(1)
})
