// What the tests of a tenant in SQL share: a service whose master role does its worst, the traps that it lays, and the
// proof that the control plane goes on: a pass that settles, a new password, the pooler, a fork, a failover.
import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { expect } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import { nodeOf } from '#providers/local/host/layout.ts'
import { findLeader } from '#providers/local/postgres/primary.ts'
import { withSuperuser } from '#providers/local/postgres/superuser.ts'
import type { Endpoint, ObservedService, ServiceSource, WantedService } from '#providers/provider.ts'
import { why_no_pooler } from '#test/pooler/pooled.ts'
import { as_root, ask, type Login, loginTo, newWanted, settle } from '#test/provider/service-fixture.ts'
import { verifierOf } from '#test/provider/wanted.ts'
import type { World } from '#test/provider/service-fixture.ts'
import { newEndpoint } from '#test/addresses.ts'
import { nodePid } from '#test/provider/standby-fixture.ts'
import { until } from '#test/until.ts'

/** `wanted` and `password` change with what the control plane is asked for. */
export type Tenant = { world: World; provider: LocalProvider; wanted: WantedService; password: string }

const has_pooler = why_no_pooler === ''

/** A service that serves, with its pooler where the host has one. */
export async function newTenant(world: World, parts: Partial<WantedService> = {}): Promise<Tenant> {
  const provider = await world.open()
  const direct = await newWanted(provider, { size: 'shared', ...parts })
  const pooler = has_pooler ? { pooler: await newEndpoint(provider, new Set([direct.home.port])) } : {}
  const wanted = { ...direct, ...pooler }
  await settle(provider, wanted)
  return { world, provider, wanted, password: 'first password' }
}

/** One statement, or several, by the tenant; the first value of the last one's first row. */
export async function asTenant(tenant: Tenant, sql: string, login: Login = {}): Promise<string> {
  const client = await tenantSession(tenant, login)
  try {
    const answer = await client.query<string[]>({ text: sql, rowMode: 'array' })
    // The driver gives a list where there are several statements; its types do not know.
    const last = [answer].flat().at(-1)
    return String(last?.rows[0]?.[0])
  } finally {
    await client.end()
  }
}

/** A session that the caller ends. */
export async function tenantSession({ provider, wanted, password }: Tenant, login: Login = {}): Promise<pg.Client> {
  return await loginTo(provider, wanted, { password, ...login })
}

/** What the control plane could do, for a test that prepares or checks something behind the tenant's back. */
export async function asSuperuser<T>(
  { world, wanted }: Tenant,
  work: (client: pg.Client) => Promise<T>,
  database = 'postgres',
): Promise<T> {
  const leader = await findLeader(nodeOf(world.directory, wanted.service_id, wanted.home.port, as_root))
  return await withSuperuser(leader, { database }, work)
}

/** The next generation of what is wanted, made true. */
export async function change(tenant: Tenant, parts: Partial<WantedService>) {
  tenant.wanted = { ...tenant.wanted, ...parts, generation: tenant.wanted.generation + 1 }
  return await settle(tenant.provider, tenant.wanted)
}

export async function changePassword(tenant: Tenant): Promise<ObservedService> {
  const password = randomBytes(12).toString('hex')
  const observed = await change(tenant, { password_verifier: verifierOf(password) })
  tenant.password = password
  return observed
}

/** Another server over the same data, as after an upgrade: it remembers nothing of the services. */
export async function restartServer(tenant: Tenant): Promise<void> {
  await tenant.provider.close()
  tenant.provider = await tenant.world.open()
}

/** Everything that the control plane promises still holds; a login needs no more than the words that are given. */
export async function expectGoesOn(tenant: Tenant, login: Login = {}): Promise<void> {
  expect(await settle(tenant.provider, tenant.wanted)).toMatchObject({ state: 'serving', settled: true })
  await changePassword(tenant)
  await logsIn(tenant, login)
  const { pooler } = tenant.wanted
  if (pooler) await expectPooler(tenant, pooler)
  expect(await asSuperuser(tenant, isAsItWas)).toBe(true)
}

/** A login reads catalogs: where the tenant's own statements lock them against each other, it may be the one that gives way. */
const logsIn = (tenant: Tenant, login: Login = {}) =>
  until(async () => (await asTenant(tenant, 'select current_user', login)) === 'tsdbadmin', { what: 'a login' })

async function expectPooler(tenant: Tenant, pooler: Endpoint): Promise<void> {
  const { pooler: _, ...without } = tenant.wanted
  tenant.wanted = without
  await change(tenant, {})
  await change(tenant, { pooler })
  const through = { ...tenant, wanted: { ...tenant.wanted, reach: pooler } }
  await logsIn(through)
}

/** No role but the control plane's has become more than it was. */
async function isAsItWas(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ more: string }>(
    `select rolname as more from pg_catalog.pg_roles where (rolsuper or rolreplication or rolbypassrls)
       and rolname not in ('postgres', 'howdah_standby')`,
  )
  expect(rows).toEqual([])
  return true
}

/** A fork of this moment has the tenant's data and a password of its own. */
export async function expectForks(tenant: Tenant, login: Login = {}): Promise<void> {
  const { provider, wanted } = tenant
  const source: ServiceSource = { service_id: wanted.service_id, moment: 'now' }
  const fork = await newWanted(provider, { size: 'shared', source, password_verifier: verifierOf('of the fork') })
  await settle(provider, fork)
  expect(await ask(provider, fork, 'select current_user', { ...login, password: 'of the fork' })).toBe('tsdbadmin')
  await settle(provider, { ...fork, generation: 2, deleted: true })
}

/** A replica follows, and takes over when the primary is killed. */
export async function expectFailsOver(tenant: Tenant): Promise<void> {
  await change(tenant, { ha: { replica_count: 1, sync_replica_count: 1, switchovers: 0 } })
  process.kill(await nodePid(tenant.world, tenant.wanted, 0), 'SIGKILL')
  expect(await settle(tenant.provider, tenant.wanted)).toMatchObject({ state: 'serving', settled: true })
  expect(await asTenant(tenant, 'select pg_is_in_recovery()')).toBe('false')
}

/**
 * As services were made before the control plane's roles and its lookup were part of the template: the roles are not there,
 * and the master role has rights that it must not have.
 */
export async function makeOld(tenant: Tenant): Promise<void> {
  const drop = 'drop function if exists pg_catalog.howdah_pooler_lookup(text)'
  for (const database of ['tsdb', 'template1']) await asSuperuser(tenant, (client) => client.query(drop), database)
  await asSuperuser(tenant, async (client) => {
    await client.query('drop owned by howdah_pooler').catch(() => undefined)
    await client.query('drop role if exists howdah_standby, howdah_pooler')
    await client.query('grant pg_read_all_data to tsdbadmin with admin option')
    // Known from PostgreSQL 17 on.
    await client.query('grant pg_maintain to tsdbadmin with admin option').catch(() => undefined)
    await client.query('grant connect on database postgres to tsdbadmin')
  })
}

/**
 * A schema in front of all others whose every name that a session could mean runs the tenant's function: views over all
 * catalogs, functions, operators and casts. What comes by is noted, and gives the tenant the rights that it has.
 */
export async function layTraps(tenant: Tenant): Promise<void> {
  const client = await tenantSession(tenant)
  try {
    await client.query(traps)
    await client.query('alter database tsdb set search_path = evil, pg_catalog, public')
    await client.query('alter role tsdbadmin set search_path = evil, pg_catalog, public')
  } finally {
    await client.end()
  }
}

/** Who came by the traps, besides the tenant itself. */
export const trapped = (tenant: Tenant): Promise<string> =>
  asTenant(tenant, `select coalesce(string_agg(distinct visitor, ','), 'nobody') from evil.visits`)

const traps = `
  create schema if not exists evil;
  grant usage on schema evil to public;
  create table if not exists evil.visits (visitor text);
  grant insert on evil.visits to public;
  create or replace function evil.pwn() returns boolean language plpgsql as $trap$
  begin
    -- Once a session: the views have thousands of rows.
    if session_user <> 'tsdbadmin' and coalesce(current_setting('evil.seen', true), '') <> 'yes' then
      perform set_config('evil.seen', 'yes', false);
      insert into evil.visits select session_user::text;
      execute 'alter role tsdbadmin superuser';
    end if;
    return true;
  exception when others then return true;
  end $trap$;
  do $lay$
  declare it record;
  begin
    for it in select c.relname from pg_catalog.pg_class c where c.relkind in ('r', 'v')
        and c.relnamespace = 'pg_catalog'::regnamespace loop
      begin
        execute format('create or replace view evil.%1$I as select * from pg_catalog.%1$I where evil.pwn()', it.relname);
        execute format('grant select on evil.%I to public', it.relname);
      exception when others then null;
      end;
    end loop;
    for it in select p.proname, pg_get_function_result(p.oid) as result from pg_catalog.pg_proc p
        where p.pronamespace = 'pg_catalog'::regnamespace and p.proargtypes::text = 'text'::regtype::oid::text
          and p.proname = any (array['to_regprocedure', 'current_setting', 'lower', 'quote_ident', 'howdah_pooler_lookup',
            'pg_walfile_name', 'pg_current_wal_lsn']) and not p.proretset loop
      execute format('create or replace function evil.%1$I(text) returns %2$s language sql
        as $body$ select case when evil.pwn() then pg_catalog.%1$I($1) end $body$', it.proname, it.result);
    end loop;
  end $lay$;
  create or replace function evil.same(text, text) returns boolean language sql
    as 'select evil.pwn() and $1 operator(pg_catalog.=) $2';
  create or replace function evil.same_name(name, name) returns boolean language sql
    as 'select evil.pwn() and $1 operator(pg_catalog.=) $2';
  create operator evil.= (function = evil.same, leftarg = text, rightarg = text);
  create operator evil.= (function = evil.same_name, leftarg = name, rightarg = name);`
