// The escapes of a tenant from SQL: each is refused in PostgreSQL's own words, and the control plane goes on meanwhile and
// after that: a pass that settles, a new password, the pooler, a fork, a failover.
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { settle, useWorlds } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'
import { type Escape, file_escapes, language_escapes, role_escapes, server_escapes } from './sql-escapes.ts'
import {
  asSuperuser,
  asTenant,
  change,
  changePassword,
  expectFailsOver,
  expectForks,
  expectGoesOn,
  newTenant,
  type Tenant,
  tenantSession,
} from './tenant.ts'

const { newWorld } = useWorlds()

/** Each once, and then again and again while the work is done; none may ever succeed. */
async function tryAll(tenant: Tenant, escapes: readonly Escape[], work: () => Promise<void>): Promise<void> {
  const session = await tenantSession(tenant)
  onTestFinished(() => session.end().catch(() => undefined))
  const tried = async ({ sql }: Escape): Promise<string> => {
    // Several statements are one transaction, unless they begin another one.
    const outcome = await session.query(sql).then(() => 'it succeeded', String)
    await session.query('rollback')
    return outcome
  }
  for (const each of escapes) expect(await tried(each), each.what).toMatch(each.refusal)
  const over = new AbortController()
  const trying = (async () => {
    while (!over.signal.aborted) for (const each of escapes) expect(await tried(each), each.what).toMatch(each.refusal)
  })()
  await work().finally(() => over.abort())
  await trying
}

test('no escape succeeds, while the control plane does all its work', async () => {
  const escapes = [...file_escapes, ...language_escapes, ...server_escapes, ...role_escapes]
  const tenant = await newTenant(await newWorld())
  await tryAll(tenant, escapes, async () => {
    await expectGoesOn(tenant)
    await expectForks(tenant)
  })
  await expectFailsOver(tenant)
  await tryAll(tenant, escapes, () => expectGoesOn(tenant))
})

test('a session of the control plane can be neither ended nor cancelled by a tenant', async () => {
  const tenant = await newTenant(await newWorld())
  await asSuperuser(tenant, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_catalog.pg_backend_pid() as pid')
    for (const end of ['pg_terminate_backend', 'pg_cancel_backend']) {
      await expect(asTenant(tenant, `select ${end}(${rows[0]?.pid})`)).rejects.toThrow(/permission denied/)
    }
    expect((await client.query('select 7 as n')).rows).toEqual([{ n: 7 }])
  })
})

test('where an operator has added dblink and postgres_fdw, they open no door to the sockets of the server', async () => {
  const tenant = await newTenant(await newWorld())
  // Not by the control files that keep tenants from them.
  const add = `set extension_control_path = '$system'; create extension dblink schema public;
    create extension postgres_fdw schema public; grant usage on foreign data wrapper postgres_fdw to tsdbadmin`
  await asSuperuser(tenant, (client) => client.query(add), 'tsdb')
  const { host, port } = tenant.wanted.reach
  const folder = join(tenant.world.directory, 'run', tenant.wanted.service_id)
  for (const user of ['postgres', 'howdah_pooler', 'howdah_standby']) {
    for (const address of [folder, host]) {
      const link = `dblink('host=${address} port=${port} dbname=tsdb user=${user}', 'select 1') as t (n int)`
      await expect(asTenant(tenant, `select n from ${link}`), link).rejects.toThrow(/password|failed|connection/)
      const wrapped = `create server s foreign data wrapper postgres_fdw options (host '${address}', port '${port}', dbname 'tsdb');
        create user mapping for tsdbadmin server s options (user '${user}');
        create foreign table f (n int) server s options (schema_name 'pg_catalog', table_name 'pg_authid'); select n from f`
      await expect(asTenant(tenant, wrapped), wrapped).rejects.toThrow(/password|failed|connection/)
    }
  }
  const open = `create user mapping for tsdbadmin server s options (user 'postgres', password_required 'false')`
  const server = `create server s foreign data wrapper postgres_fdw options (host '${folder}', port '${port}')`
  await expect(asTenant(tenant, `${server}; ${open}`)).rejects.toThrow(/password_required=false is superuser-only/)
  await expectGoesOn(tenant)
})

test('a tenant that ends every session it may end, again and again, keeps neither replicas nor the pooler from their work', async () => {
  const tenant = await newTenant(await newWorld())
  await change(tenant, { ha: { replica_count: 1, sync_replica_count: 1, switchovers: 0 } })
  const session = await tenantSession(tenant)
  onTestFinished(() => session.end().catch(() => undefined))
  const others = `select count(pg_terminate_backend(pid)) from pg_stat_activity
    where pid <> pg_backend_pid() and usename is distinct from 'postgres' and usename is not null`
  for (let round = 0; round < 5; round += 1) {
    await session.query(others)
    await settle(tenant.provider, tenant.wanted)
    await changePassword(tenant)
  }
  expect(
    await until(() => asTenant(tenant, `select 'replicated' from pg_stat_replication where state = 'streaming'`)),
  ).toBe('replicated')
  await expectGoesOn(tenant)
})

test('floods of checkpoints, notifications, large objects, temporary files and locks of the tenant stop nothing', async () => {
  const tenant = await newTenant(await newWorld())
  const floods = [
    'checkpoint',
    `do $$ begin for n in 1..2000 loop perform pg_notify('c', n || repeat('x', 7000)); end loop; end $$`,
    `do $$ begin for n in 1..500 loop perform lo_from_bytea(0, decode(repeat('00', 2000), 'hex')); end loop; end $$`,
    `set work_mem = '64kB'; select count(*) from (select n from generate_series(1, 300000) n order by md5(n::text)) s`,
    `begin; select pg_advisory_xact_lock(n) from generate_series(1, 1500) n; rollback`,
    'vacuum full pg_catalog.pg_class',
    'reindex system tsdb',
    `do $$ begin for n in 1..2000 loop raise log 'noise %', n; end loop; end $$`,
  ]
  const listener = await tenantSession(tenant)
  onTestFinished(() => listener.end().catch(() => undefined))
  await listener.query('listen c; begin')
  const over = new AbortController()
  const sessions = await Promise.all(floods.map(() => tenantSession(tenant)))
  onTestFinished(async () => void (await Promise.all(sessions.map((one) => one.end().catch(() => undefined)))))
  const flooding = sessions.map(async (session, at) => {
    const sql = floods[at] ?? expect.fail()
    for (let round = 0; round < 20 && !over.signal.aborted; round += 1) await session.query(sql).catch(() => undefined)
  })
  await expectGoesOn(tenant)
  await expectForks(tenant)
  over.abort()
  await Promise.all(flooding)
  await expectFailsOver(tenant)
})
