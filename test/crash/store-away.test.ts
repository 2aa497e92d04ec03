// Databases that die while the metadata store is unreachable are healed by their last wanted state, and events say so when
// the store is back.
import { afterAll, expect, test } from 'vitest'
import type { ReadReplicaSet } from '#contract/replica-set.ts'
import { findPrimary } from '#providers/local/postgres/primary.ts'
import { nodeAt, nodeOf } from '#providers/local/host/layout.ts'
import { findPostmaster } from '#providers/local/postgres/process.ts'
import { ask } from '#test/database.ts'
import { type ReadyService, startInstallation } from '#test/installation.ts'
import { as_root } from '#test/provider/service-fixture.ts'
import { shared } from '#test/shared.ts'
import { startTestStore, withDb } from '#test/store/test-store.ts'
import { until } from '#test/until.ts'

const store = shared(startTestStore)
const howdah = shared(() => startInstallation({ config: { database_url: store.url } }))
// It cannot be left without its store.
afterAll(() => store.startPostgres())

const query = (service: ReadyService, sql: string) => ask(howdah.server.api_url, service, service.initial_password, sql)

const untilTold = ({ service_id }: ReadyService, what: string) =>
  until(async () => (await howdah.eventsOf(service_id)).some(({ kind }) => kind === what), {
    what: 'the events tell of it',
  })

async function killPrimary({ service_id, endpoint }: ReadyService): Promise<void> {
  const base = nodeOf(`${howdah.config.data_dir}/local`, service_id, endpoint.port, as_root)
  const { postmaster } = await findPostmaster(nodeAt(base, (await findPrimary(base)).node, 'primary'))
  process.kill(postmaster?.pid ?? expect.fail('the primary runs'), 'SIGKILL')
}

/** While it is away; then it is back. */
async function withoutStore(work: () => Promise<void>): Promise<void> {
  await store.stopPostgres()
  try {
    await until(async () => (await fetch(`${howdah.server.url}/readyz`)).status === 503, { what: 'the store is away' })
    await work()
  } finally {
    await store.startPostgres()
  }
}

/** The transaction that would tell it is rolled back, as after a lease that was lost. */
const failToTellOnce = (kind: string) =>
  withDb(store.url, (db) =>
    db.query(`
      create sequence tellings;
      create function fail_once() returns trigger language plpgsql as $$
      begin
        if new.kind = '${kind}' and nextval('tellings') = 1 then raise 'not this time'; end if;
        return new;
      end $$;
      create trigger fail_once before insert on service_events for each row execute function fail_once()`),
  )

test('a service whose server dies is started again, again and again, and the events tell of it afterwards, however long that takes', async () => {
  const service = await howdah.createService({ name: 'alone', cpu_millis: 'shared' })
  await failToTellOnce('restarted')
  await query(service, 'create table kept as select 7 as n')
  await withoutStore(async () => {
    for (let death = 0; death < 2; death += 1) {
      await killPrimary(service)
      await until(async () => (await query(service, 'select n from kept'))[0] === '7', { what: 'it serves again' })
    }
  })
  await untilTold(service, 'restarted')
  await howdah.untilStatus(service.service_id, 'READY')
})

test('a service with a replica fails over, without a commit lost, and the events tell of it afterwards', async () => {
  const service = await howdah.createService({ name: 'many', cpu_millis: 'shared' })
  await howdah.call('POST', `${howdah.services}/${service.service_id}/setHA`, {
    replica_count: 1,
    sync_replica_count: 1,
  })
  await howdah.untilStatus(service.service_id, 'READY')
  await query(service, 'create table kept as select 7 as n')
  await withoutStore(async () => {
    await killPrimary(service)
    await until(async () => query(service, 'insert into kept values (8) returning n'), { what: 'it takes writes' })
    expect(await query(service, 'select min(n) from kept')).toEqual(['7'])
  })
  await untilTold(service, 'promoted')
  await howdah.untilStatus(service.service_id, 'READY')
})

test('a replica set whose node dies serves again, and the events tell of it afterwards', async () => {
  const service = await howdah.createService({ name: 'read', cpu_millis: 'shared' })
  await query(service, 'create table kept as select 7 as n')
  const at = `${howdah.services}/${service.service_id}`
  const input = { name: 'set', nodes: 1, cpu_millis: 500, memory_gbs: 2 }
  const { body: made } = await howdah.call<ReadReplicaSet>('POST', `${at}/replicaSets`, input)
  const [id, endpoint] = [made.id, made.endpoint]
  const statusOf = async () =>
    (await howdah.call<ReadReplicaSet[]>('GET', `${at}/replicaSets`)).body.find((set) => set.id === id)?.status
  await until(async () => (await statusOf()) === 'active', { what: 'the set is active' })
  const read = () => ask(howdah.server.api_url, { endpoint }, service.initial_password, 'select n from kept')
  await until(async () => (await read())[0] === '7', { what: 'the set has the data' })
  const node = nodeOf(`${howdah.config.data_dir}/local`, id, service.endpoint.port, as_root)
  const pid = async () => (await findPostmaster(nodeAt(node, 0, 'standby'))).postmaster?.pid
  await withoutStore(async () => {
    process.kill((await pid()) ?? expect.fail('the node runs'), 'SIGKILL')
    await until(async () => (await read())[0] === '7', { what: 'the set serves again' })
  })
  await untilTold(service, 'restarted')
  await until(async () => (await statusOf()) === 'active', { what: 'the set is active' })
})

test('a service that was stopped before does not come back', async () => {
  const service = await howdah.createService({ name: 'stopped', cpu_millis: 'shared' })
  await howdah.call('POST', `${howdah.services}/${service.service_id}/stop`)
  await howdah.untilStatus(service.service_id, 'PAUSED')
  const other = await howdah.createService({ name: 'other', cpu_millis: 'shared' })
  await withoutStore(async () => {
    await killPrimary(other)
    await until(async () => query(other, 'select 1'), { what: 'the other one serves again' })
    await expect(query(service, 'select 1')).rejects.toThrow(/ECONNREFUSED/)
  })
})
