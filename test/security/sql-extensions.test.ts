// Attacks by way of extensions: an offered one hands a tenant nothing of the superuser that runs its script, all others are
// refused with the reason, and what PostgreSQL remembers of statements holds no secret and nothing of the control plane.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { extensionDirectoryOf } from '#providers/local/postgres/installation.ts'
import { refused_extensions, tenant_extensions } from '#providers/postgres/tenant-extensions.ts'
import { useWorlds } from '#test/provider/service-fixture.ts'
import { asTenant, changePassword, expectGoesOn, newTenant, type Tenant, tenantSession } from './tenant.ts'

const { newWorld } = useWorlds()

/** Of PostgreSQL's own; those that its authors call trusted no list of ours decides about. */
async function extensionsOf({ provider }: Tenant): Promise<{ name: string; trusted: boolean }[]> {
  const [installation] = provider.installations
  const folder = extensionDirectoryOf(installation?.bin ?? '', installation?.major ?? 0) ?? ''
  return [...(installation?.extensions ?? [])].map((name) => {
    const control = readFileSync(join(folder, `${name}.control`), 'utf8')
    return { name, trusted: /^\s*trusted\s*=\s*(true|on|yes)/m.test(control) }
  })
}

const offeredBy = ({ provider }: Tenant) =>
  tenant_extensions.filter((name) => provider.installations[0]?.extensions.has(name))

test('every extension of the bundled PostgreSQL is offered, refused with a reason, or trusted by its authors', async () => {
  const tenant = await newTenant(await newWorld())
  const left = (await extensionsOf(tenant)).filter(({ trusted }) => !trusted).map(({ name }) => name)
  expect(left.toSorted()).toEqual([...offeredBy(tenant), ...Object.keys(refused_extensions)].toSorted())
})

test('a tenant makes each offered extension in any of its databases, and may call nothing that a superuser keeps', async () => {
  const tenant = await newTenant(await newWorld())
  await asTenant(tenant, 'create database more')
  for (const login of [{}, { database: 'more' }]) {
    for (const name of offeredBy(tenant)) await asTenant(tenant, `create extension ${name}`, login)
    const owners = `select string_agg(distinct r.rolname, ',') from pg_extension e join pg_roles r on r.oid = e.extowner
      where e.extname <> 'plpgsql'`
    expect(await asTenant(tenant, owners, login)).toBe('tsdbadmin')
    for (const attempt of [
      'select pg_stat_statements_reset()',
      'select pg_buffercache_evict_all()',
      `select pg_truncate_visibility_map('pg_authid')`,
      `select pg_prewarm('pg_authid')`,
      `alter function pg_stat_statements_reset(oid, oid, bigint, boolean) owner to tsdbadmin`,
      `create or replace function moddatetime() returns trigger language plpgsql as 'begin end'`,
      'grant execute on function pg_stat_statements_reset to tsdbadmin',
    ]) {
      await expect(asTenant(tenant, attempt, login), attempt).rejects.toThrow(
        /denied|must be (superuser|owner)|required privileges/,
      )
    }
  }
  expect(await asTenant(tenant, `select (pgstattuple('pg_class')).table_len > 0`)).toBe('true')
  expect(await asTenant(tenant, 'select count(*) > 0 from pg_buffercache')).toBe('true')
  for (const name of offeredBy(tenant)) await asTenant(tenant, `drop extension ${name}; create extension ${name}`)
  await expectGoesOn(tenant)
})

test('all other extensions are refused, each with its reason, in whatever version they are asked for', async () => {
  const tenant = await newTenant(await newWorld())
  for (const [name, reason] of Object.entries(refused_extensions)) {
    const words = `permission denied to create extension "${name}": ${reason}`
    await expect(asTenant(tenant, `create extension ${name}`), name).rejects.toThrow(words)
    await expect(asTenant(tenant, `create extension ${name} cascade`), name).rejects.toThrow(words)
    for (const version of ['1.0', '1.1', '1.2', '../1.2']) {
      const attempt = `create extension ${name} version '${version}'`
      await expect(asTenant(tenant, attempt), attempt).rejects.toThrow(
        /no installation script|invalid extension version/,
      )
    }
  }
  const told = `select comment from pg_available_extensions where name = 'dblink'`
  expect(await asTenant(tenant, told)).toBe(`not offered: ${refused_extensions['dblink']}`)
  for (const setting of ['extension_control_path', 'dynamic_library_path', 'shared_preload_libraries']) {
    for (const attempt of [`set ${setting} = '/tmp'`, `alter database tsdb set ${setting} = '/tmp'`]) {
      await expect(asTenant(tenant, attempt), attempt).rejects.toThrow(/denied|cannot be changed/)
    }
  }
  expect(await asTenant(tenant, `select string_agg(extname, ',') from pg_extension`)).toBe('plpgsql')
})

test('what lies in wait in the schema of an offered extension is run by no script of it', async () => {
  const tenant = await newTenant(await newWorld())
  await asTenant(tenant, ambush)
  for (const name of offeredBy(tenant)) {
    const make = `set search_path = ambush, pg_catalog; create extension ${name} schema ambush`
    // Where something of the tenant's is in the way the script ends there.
    await asTenant(tenant, make).catch((error: Error) =>
      expect(error.message).toMatch(/already exists|is not a member/),
    )
    await asTenant(tenant, `alter extension ${name} update`).catch(() => undefined)
  }
  expect(await asTenant(tenant, `select coalesce(string_agg(visitor, ','), 'nobody') from ambush.visits`)).toBe(
    'nobody',
  )
  await expectGoesOn(tenant)
})

test('pg_stat_statements has no statement of the control plane, no verifier and no password', async () => {
  const tenant = await newTenant(await newWorld())
  await asTenant(tenant, 'create extension pg_stat_statements')
  await asTenant(tenant, `create role app login password 'word-of-the-app'`)
  await asTenant(tenant, `alter role app password 'other-word-of-the-app'`)
  await changePassword(tenant)
  await asTenant(tenant, 'select 7 as seven')
  const session = await tenantSession(tenant)
  onTestFinished(() => session.end().catch(() => undefined))
  const { rows } = await session.query<{ query: string; rolname: string }>(
    `select s.query, r.rolname from pg_stat_statements s join pg_roles r on r.oid = s.userid`,
  )
  expect(rows.map(({ query }) => query)).toContain('select $1 as seven')
  expect(rows.filter(({ rolname }) => rolname === 'postgres')).toEqual([])
  expect(rows.filter(({ query }) => /scram|password|word-of/i.test(query))).toEqual([])
  for (const setting of ['track_utility = on', 'track = none']) {
    await expect(session.query(`set pg_stat_statements.${setting}`), setting).rejects.toThrow(/denied/)
    const always = `alter database tsdb set pg_stat_statements.${setting}`
    await expect(session.query(always), always).rejects.toThrow(/denied/)
  }
})

/** Everything that a script could take for PostgreSQL's own or its extension's, each of which makes the tenant a superuser. */
const ambush = `
  create schema ambush;
  create table ambush.visits (visitor text);
  create function ambush.pwn() returns boolean language plpgsql as $trap$
  begin
    if current_user <> 'tsdbadmin' then
      insert into ambush.visits values (current_user);
      execute 'alter role tsdbadmin superuser';
    end if;
    return true;
  end $trap$;
  create domain ambush.regclass as text check (ambush.pwn());
  create domain ambush.int8 as pg_catalog.int8 check (ambush.pwn());
  create domain ambush.text as pg_catalog.text check (ambush.pwn());
  create function ambush.generate_series(pg_catalog.int8, pg_catalog.int8) returns setof pg_catalog.int8 language sql
    as 'select 1::pg_catalog.int8 where ambush.pwn()';
  create function ambush.pg_relation_size(pg_catalog.regclass) returns pg_catalog.int8 language sql
    as 'select 1::pg_catalog.int8 where ambush.pwn()';
  create function ambush.current_setting(pg_catalog.text) returns pg_catalog.text language sql
    as 'select '''' where ambush.pwn()';
  create function ambush.divided(pg_catalog.int8, pg_catalog.int8) returns pg_catalog.int8 language sql
    as 'select 1::pg_catalog.int8 where ambush.pwn()';
  create operator ambush./ (function = ambush.divided, leftarg = pg_catalog.int8, rightarg = pg_catalog.int8);
  create operator ambush.- (function = ambush.divided, leftarg = pg_catalog.int8, rightarg = pg_catalog.int8);
  create function ambush.pg_stat_statements(anyelement) returns setof record language sql
    as 'select 1 where ambush.pwn()';
  create function ambush.pg_freespace(pg_catalog.regclass, pg_catalog.int4) returns pg_catalog.int2 language sql
    as 'select 1::pg_catalog.int2 where ambush.pwn()';
  create function ambush.pg_buffercache_pages(anyelement) returns setof record language sql
    as 'select 1 where ambush.pwn()';`
