// A service of this machine is copied into a real cluster as it is: base backup by streaming, then recovery. The two need the same major
// version: RIG_LOCAL_POSTGRES names a directory of PostgreSQL's programs of the one that the cluster has. Pods reach this machine by a
// relay at an address of the rig's own network, which exists in its namespace only.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openClient } from '#providers/kubernetes/api/client.ts'
import { ask } from '#test/database.ts'
import { type ReadyService, startInstallation } from '#test/installation.ts'
import { until } from '#test/until.ts'
import { rig_row, rig_settings, withRigRemoved } from './rig-region.ts'

const copy_host = process.env['RIG_NODE_ADDRESS'] ?? '10.77.0.1'
const state = process.env['RIG_STATE'] ?? '/var/lib/howdah-rig'
const postgres = process.env['RIG_LOCAL_POSTGRES']

test('a service is copied into the cluster with all that it has, and the two are then independent', async () => {
  if (postgres === undefined) throw new Error('RIG_LOCAL_POSTGRES must name the programs of a PostgreSQL')
  const regions = [{ region_code: 'local', provider: 'local', copy_host } as const, { ...rig_row, region_code: 'eu-1' }]
  const config = { regions, postgres_directories: [postgres] }
  const howdah = withRigRemoved(await startInstallation({ config }))
  onTestFinished(() => howdah.stop())
  const { api_url: url } = howdah.server
  const query = (one: ReadyService, sql: string) => ask(url, one, one.initial_password, sql)
  const old = await howdah.createService({ name: 'shop', cpu_millis: 'shared' })
  for (const sql of made) await query(old, sql)
  const at = `${howdah.services}/${old.service_id}`
  const begun = performance.now()
  const asked = await howdah.call('POST', `${at}/forkService`, { fork_strategy: 'NOW', region_code: 'eu-1' })
  expect([asked.status, asked.body.region_code]).toEqual([202, 'eu-1'])
  const copy = asked.body as unknown as ReadyService // the contract's own answer
  const reason = async () =>
    (await howdah.call('GET', `${howdah.services}/${copy.service_id}`)).body.status_reason ?? ''
  await until(async () => /does not reach its parent .*10\.77/.test(await reason()), {
    what: 'it says what is missing',
  })
  process.stdout.write(`${await reason()}\n`)
  await openRelay(old.endpoint.port)
  await howdah.untilStatus(copy.service_id, 'READY')
  process.stdout.write(`fork into the cluster: ${((performance.now() - begun) / 1000).toFixed(1)} s\n`)

  expect(await query(copy, `select count(*) || ' ' || sum(id) from orders`)).toEqual(['20000 200010000'])
  expect(await query(copy, `select has_table_privilege('app', 'orders', 'select')`)).toEqual(['true'])
  expect(await query(copy, `insert into orders (item) values ('there') returning id`)).toEqual(['20001'])
  expect(await query(old, `insert into orders (item) values ('here') returning id`)).toEqual(['20001'])
  expect(await query(copy, `select item from orders where id = 20001`)).toEqual(['there'])

  // Nothing is left by which the one reads the other.
  const roles = `select count(*) from pg_roles where rolname like 'howdah_copy%'`
  for (const one of [old, copy])
    await until(async () => (await query(one, roles))[0] === '0', { what: 'no role is left' })
  const client = openClient(rig_settings)
  onTestFinished(() => client.close())
  const installation_id = readFileSync(join(howdah.config.data_dir, 'installation-id'), 'utf8').trim()
  const mine = { kind: 'Secret', label_selector: `howdah/installation-id=${installation_id}` } as const
  const isGone = async () => (await client.list(mine)).items.every(({ metadata }) => !metadata.name.endsWith('-copy'))
  await until(isGone, { what: 'the secret of the copy is gone' })

  // It is a service like any other of its region.
  const there = `${howdah.services}/${copy.service_id}`
  const accepted = async (path: string, input?: object) =>
    expect((await howdah.call('POST', `${there}/${path}`, input)).status, path).toBeLessThan(300)
  await accepted('enablePooler')
  await accepted('setHA', { replica_count: 1, sync_replica_count: 1 })
  const { body } = await howdah.untilStatus(copy.service_id, 'READY')
  const { connection_pooler: pooler } = body as { connection_pooler?: { endpoint: ReadyService['endpoint'] } }
  const endpoint = pooler?.endpoint ?? { host: 'no pooler', port: 0 }
  expect(await query({ ...copy, endpoint }, 'select count(*) from orders')).toEqual(['20001'])
  expect(await query(copy, 'select sync_state from pg_stat_replication')).toEqual(['quorum'])
  const restorable = () => howdah.call<{ restorable_from?: string }>('GET', `${there}/restorable`)
  await until(async () => (await restorable()).body.restorable_from !== undefined, {
    what: 'its first snapshot is there',
  })
  expect((await howdah.call('DELETE', at)).status).toBe(202)
  await howdah.untilStatus(old.service_id, 'removed')
  expect(await query(copy, 'select count(*) from orders')).toEqual(['20001'])
})

const made = [
  'create table orders (id bigint generated by default as identity primary key, item text not null)',
  `insert into orders (item) select 'item ' || n from generate_series(1, 20000) n`,
  `create role app login password 'of the app'`,
  'grant select on orders to app',
]

/** Inside the rig it listens, outside it connects; a socket in the file system, which both see, is between. */
async function openRelay(port: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-relay-'))
  const path = join(folder, 'socket')
  const join_both = (one: Socket, other: Socket) => {
    for (const [from, to] of [
      [one, other],
      [other, one],
    ] as const)
      from.pipe(to).on('error', () => from.destroy())
    one.on('error', () => other.destroy())
  }
  const outside = createServer((one) => join_both(one, connect(port, '127.0.0.1'))).listen(path)
  const [pid = ''] = readFileSync(join(state, 'node.pid'), 'utf8').split(' ')
  const inside = `
    const { connect, createServer } = require('node:net')
    createServer((one) => {
      const other = connect(${JSON.stringify(path)})
      one.pipe(other).on('error', () => one.destroy())
      other.pipe(one).on('error', () => other.destroy())
    }).listen(${port}, ${JSON.stringify(copy_host)}, () => console.log('listens'))`
  const child = spawn('nsenter', ['-t', pid, '-n', process.execPath, '-e', inside], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => {
    child.kill()
    outside.close()
    rmSync(folder, { recursive: true })
  })
  await new Promise((resolve) => child.stdout.once('data', resolve))
}
