// Statements through the API that try to get out of what they may do: in read mode none writes anything, in either mode none becomes more
// than the master role, and nothing of the tenant that lies in their way does. One service; each escape is one query.
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FaultBody } from '#contract/fault.ts'
import type { QueryResult } from '#contract/query.ts'
import { nodeOf } from '#providers/local/host/layout.ts'
import { withSuperuser } from '#providers/local/postgres/superuser.ts'
import { loginTo } from '#test/database.ts'
import type { ReadyService } from '#test/installation.ts'
import { startInstallation } from '#test/installation.ts'
import { as_root } from '#test/provider/service-fixture.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'

const howdah = shared(startInstallation)
let service: ReadyService
/** A session of the tenant's own, to prepare and to compare. */
let tenant: pg.Client

beforeAll(async () => {
  service = await howdah.createService({ cpu_millis: 'shared' })
  tenant = await loginTo(howdah.server.api_url, service, service.initial_password)
  await tenant.query(scene)
})

afterAll(async () => {
  await tenant?.end()
})

const scene = `
  create table orders (id int primary key, note text);
  insert into orders select n, 'order ' || n from generate_series(1, 10) n;
  create sequence numbers;
  create table visits (visitor text, who text);
  grant insert on visits to public;
  create role clerk; create role made_by_hand login; grant clerk to tsdbadmin;
  create function writes() returns int language sql as $$ insert into orders values (99, 'written'); select 1 $$;
  create function writes_as_owner() returns int language sql security definer
    as $$ insert into orders values (98, 'written'); select 1 $$;
  create procedure commits() language plpgsql as $$ begin insert into orders values (97, 'x'); commit; end $$;
  create function shakes_off() returns int language plpgsql as $$ begin
    perform set_config('transaction_read_only', 'off', false); insert into orders values (96, 'x'); return 1; end $$;
  create function becomes(name text) returns text language plpgsql as $$ begin
    perform set_config('role', name, false); return current_user; end $$;
  create function stays() returns int language plpgsql as $$ begin
    loop begin perform pg_sleep(60); exception when query_canceled then null; end; end loop; end $$;
  create schema evil;
  grant usage, create on schema evil to public;
  create function evil.note() returns boolean language plpgsql as $$ begin
    begin execute 'alter role tsdbadmin superuser'; exception when others then null; end;
    begin insert into public.visits values (session_user, current_user); exception when others then null; end;
    return true; end $$;
  create view evil.pg_class as select * from pg_catalog.pg_class where evil.note();
  create function evil.format_type(oid, int) returns text language sql as $$ select case when evil.note() then 'evil' end $$;
  create function evil.lower(text) returns text language sql as $$ select case when evil.note() then 'evil' end $$;
  grant select on evil.pg_class to public;
  alter database tsdb set search_path = evil, pg_catalog, public;
  alter database tsdb set role = 'clerk';
  alter database tsdb set statement_timeout = 0;
  alter database tsdb set default_transaction_read_only = off;
  alter database tsdb set local_preload_libraries = 'nothing_here';`

type Body = QueryResult & FaultBody
type Given = { mode?: 'read' | 'write'; [member: string]: unknown }

async function run(query: string, given: Given = {}): Promise<{ status: number; body: Body }> {
  return await howdah.call<Body>('POST', `${howdah.services}/${service.service_id}/query`, { query, ...given })
}

/** Everything that a statement could have changed and that stays. */
async function written(): Promise<string> {
  const { rows } = await tenant.query<{ all: string }>(`select pg_catalog.concat_ws('|',
    (select pg_catalog.string_agg(o::text, ',' order by id) from public.orders o), (select last_value || is_called::text from public.numbers),
    (select pg_catalog.string_agg(relname || relacl::text, ',' order by oid) from pg_catalog.pg_class where relnamespace >= 2200),
    (select pg_catalog.string_agg(rolname || rolsuper || rolcreaterole || rolreplication, ',' order by oid) from pg_catalog.pg_roles
       where rolname !~ '^howdah_query_'),
    (select pg_catalog.string_agg(m.roleid || '/' || m.member, ',' order by m.oid) from pg_catalog.pg_auth_members m
       join pg_catalog.pg_roles r on r.oid = m.member where r.rolname !~ '^howdah_query_'),
    (select pg_catalog.string_agg(datname, ',' order by oid) from pg_catalog.pg_database),
    (select pg_catalog.string_agg(setconfig::text, ',' order by setdatabase) from pg_catalog.pg_db_role_setting where setrole = 0),
    (select pg_catalog.count(*) from pg_catalog.pg_proc), (select pg_catalog.count(*) from pg_catalog.pg_largeobject_metadata)) as all`)
  return String(rows[0]?.all)
}

const roles = () =>
  tenant.query(`select rolname from pg_catalog.pg_roles where rolname ~ '^howdah_query_'`).then(({ rows }) => rows)

test('a statement is answered with its columns, their types, rows as PostgreSQL writes them, and its parameters', async () => {
  const { status, body } = await run(
    `select $1::int as number, null as nothing, array[true] as flags, 'é'::varchar as letter`,
    { parameters: ['7'] },
  )
  expect(body).toMatchObject({
    columns: [
      { name: 'number', type: 'integer' },
      { name: 'nothing', type: 'text' },
      { name: 'flags', type: 'boolean[]' },
      { name: 'letter', type: 'character varying' },
    ],
    rows: [['7', null, '{t}', 'é']],
    row_count: 1,
    truncated: false,
    notices: [],
    command: 'SELECT',
  })
  expect(status).toBe(200)
})

test('rows, bytes, seconds and the size of an answer have limits', async () => {
  const many = await run('select n from pg_catalog.generate_series(1, 1000000) n', { row_limit: 3 })
  expect(many.body).toMatchObject({ rows: [['1'], ['2'], ['3']], truncated: true })
  const wide = await run(`select pg_catalog.repeat('x', 400000) from pg_catalog.generate_series(1, 5)`)
  expect(wide.body).toMatchObject({ truncated: true })
  expect(wide.body.rows).toHaveLength(2)
  const huge = await run(`select pg_catalog.repeat('x', 100000000)`)
  expect([huge.status, huge.body.message]).toEqual([400, expect.stringContaining('larger than 16 MB')])
  const slow = await run('select pg_catalog.pg_sleep(30)', { timeout_seconds: 1 })
  expect([slow.status, slow.body.message]).toEqual([400, expect.stringContaining('statement timeout (57014)')])
  const caught = await run('select public.stays()', { timeout_seconds: 1 })
  expect([caught.status, caught.body.message]).toEqual([400, expect.stringContaining('took longer than 1 s')])
  expect(await roles()).toEqual([])
})

test('an error of PostgreSQL comes with its code, its place and its hint', async () => {
  const { status, body } = await run('select count(*) form orders')
  expect(status).toBe(400)
  expect(body).toMatchObject({ code: 'INVALID_REQUEST', message: 'syntax error at or near "orders" (42601)' })
  expect(body.details).toBe('position: character 22')
})

/** What each says; `ok` where it is carried out without effect. */
const escapes: readonly (readonly [what: string, sql: string, outcome: RegExp | 'ok'])[] = [
  ['an insert', `insert into public.orders values (11, 'x')`, /read-only transaction/],
  [
    'an update in a CTE',
    'with w as (update public.orders set id = 0 returning 1) select * from w',
    /read-only transaction/,
  ],
  ['two statements', `commit; insert into public.orders values (11, 'x')`, /multiple commands/],
  ['two statements behind a comment', `select 1; -- \n delete from public.orders`, /multiple commands/],
  ['a commit', 'commit', 'ok'],
  ['a rollback', 'rollback', 'ok'],
  ['a new transaction', 'commit and chain', 'ok'],
  ['set transaction', 'set transaction read write', /must be set before any query/],
  [
    'set transaction_read_only',
    'set transaction_read_only = off',
    /cannot set transaction read-write mode|before any query/,
  ],
  ['a session that writes by default', 'set session characteristics as transaction read write', 'ok'],
  [
    'a setting in a select',
    `select pg_catalog.set_config('transaction_read_only', 'off', false)`,
    /before any query|read-write mode/,
  ],
  ['a function that writes', 'select public.writes()', /read-only transaction/],
  ['a function of another owner that writes', 'select public.writes_as_owner()', /read-only transaction/],
  ['a function that makes the transaction write', 'select public.shakes_off()', /before any query|read-write mode/],
  ['a procedure that commits', 'call public.commits()', /read-only transaction/],
  [
    'a block that commits',
    `do $$ begin commit; insert into public.orders values (12, 'x'); end $$`,
    /invalid transaction termination/,
  ],
  [
    'a block that begins a subtransaction',
    `do $$ begin begin insert into public.orders values (12, 'x'); exception when others then null; end; end $$`,
    'ok',
  ],
  ['a sequence', `select pg_catalog.nextval('public.numbers')`, /read-only transaction/],
  ['a sequence that is set', `select pg_catalog.setval('public.numbers', 7)`, /read-only transaction/],
  ['explain analyze', 'explain analyze delete from public.orders', /read-only transaction/],
  ['a prepared statement', `prepare p as delete from public.orders`, 'ok'],
  ['a large object', `select pg_catalog.lo_from_bytea(0, 'x')`, /read-only transaction/],
  ['copy to a program', `copy public.orders to program 'touch /tmp/out'`, /permission denied/],
  ['copy to a file', `copy public.orders to '/tmp/out'`, /permission denied/],
  ['copy from the caller', 'copy public.orders from stdin', /read-only transaction|COPY from stdin failed/],
  ['a file of the server', `select pg_catalog.pg_read_file('postgresql.conf')`, /permission denied/],
  ['verifiers', 'select rolpassword from pg_catalog.pg_authid', /permission denied/],
  ['verifiers by a view', 'select passwd from pg_catalog.pg_shadow', /permission denied/],
  ['the master role', 'set role tsdbadmin', /permission denied to set role/],
  ['the master role in a function', `select public.becomes('tsdbadmin')`, /permission denied to set role/],
  ['the superuser', 'set session authorization postgres', /permission denied/],
  ['a role of its own', 'create role intruder superuser', /read-only transaction|permission denied/],
  ['a setting of the server', `alter system set fsync = off`, /transaction block|permission denied/],
  ['a setting of the database', `alter database tsdb set work_mem = '1GB'`, /read-only transaction/],
  ['a library', `load '/tmp/evil.so'`, /access to library|permission denied/],
  ['a lock on a table of the control plane', 'lock table pg_catalog.pg_authid', /permission denied/],
  ['a slot', `select pg_catalog.pg_create_physical_replication_slot('s')`, /permission denied/],
  ['a vacuum', 'vacuum public.orders', /transaction block/],
  ['another database', `create database escaped`, /read-only transaction|transaction block/],
  ['a temporary table that hides a catalog', 'create temp table pg_roles (n int)', /read-only transaction/],
  ['a grant to itself', 'grant tsdbadmin to session_user', /read-only transaction|permission denied|must have/],
]

describe('in read mode', () => {
  test.each(escapes)('%s writes nothing', async (what, sql, outcome) => {
    const before = await written()
    const { status, body } = await run(sql)
    if (outcome === 'ok') expect(status, `${what}: ${body.message}`).toBe(200)
    else expect(body.message, what).toMatch(outcome)
    expect(await written()).toBe(before)
  })

  test('what the tenant has put in the way of names runs, and is the master role at most', async () => {
    await run('select count(*) from pg_class')
    await run(`select lower('X')`)
    expect((await tenant.query('select distinct who from public.visits')).rows).toEqual([])
    await run(`select lower('X')`, { mode: 'write' })
    expect((await tenant.query('select distinct who from public.visits')).rows).toEqual([{ who: 'tsdbadmin' }])
    const { rows } = await tenant.query(`select rolsuper from pg_catalog.pg_roles where rolname = 'tsdbadmin'`)
    expect(rows).toEqual([{ rolsuper: false }])
  })

  test.each([
    ['database', { database: 'postgres' }, /permission denied for database/],
    ['startup packet', { database: 'tsdb\0user\0postgres' }, /./],
    ['statement', { query: 'select 1\0; select 2' }, /./],
  ])('no more rights come with the %s', async (_, given, refusal) => {
    const { status, body } = await run('select current_user', given)
    expect([status, body.code]).toEqual([400, 'INVALID_REQUEST'])
    expect(body.message).toMatch(refusal)
  })
})

describe('in write mode', () => {
  test('a statement is the master role’s, and is committed', async () => {
    const made = await run('create table public.made (n int)', { mode: 'write' })
    expect([made.status, made.body.command]).toEqual([200, 'CREATE'])
    await run('insert into public.made select 1 from pg_catalog.generate_series(1, 3)', { mode: 'write', row_limit: 1 })
    const { rows } = await tenant.query(
      `select tableowner, (select count(*)::int from public.made) as rows from pg_catalog.pg_tables where tablename = 'made'`,
    )
    expect(rows).toEqual([{ tableowner: 'tsdbadmin', rows: 3 }])
  })

  test.each([
    ['the superuser', 'set session authorization postgres', /permission denied/],
    ['a superuser', 'create role intruder superuser', /permission denied|must be superuser/],
    ['replication', 'alter role tsdbadmin replication', /permission denied/],
    ['programs', `copy public.orders to program 'touch /tmp/out'`, /permission denied/],
    ['verifiers', 'select rolpassword from pg_catalog.pg_authid', /permission denied/],
    ['two statements', `select 1; select 2`, /multiple commands/],
  ])('%s stays out of reach', async (_, sql, refusal) => {
    expect((await run(sql, { mode: 'write' })).body.message).toMatch(refusal)
  })

  test('an answer that is too large wrote nothing', async () => {
    const large = await run(`update public.orders set note = pg_catalog.repeat('x', 4000000) returning note`, {
      mode: 'write',
    })
    expect([large.status, large.body.message]).toEqual([400, expect.stringContaining('larger than 16 MB')])
    expect((await tenant.query(`select count(*)::int as n from public.orders where note like 'order%'`)).rows).toEqual([
      { n: 10 },
    ])
  })

  test('what a statement made as its own role belongs to the master role, and the role is dropped', async () => {
    const sneaked = `do $$ begin set local role none; create table evil.left_behind (n int); end $$`
    expect((await run(sneaked, { mode: 'write' })).status).toBe(200)
    const { rows } = await tenant.query(`select tableowner from pg_catalog.pg_tables where tablename = 'left_behind'`)
    expect(rows).toEqual([{ tableowner: 'tsdbadmin' }])
    expect(await roles()).toEqual([])
  })
})

test('a role that the tenant keeps from being dropped can do nothing, and a pass removes what a dead server left', async () => {
  const granting = `do $$ begin execute pg_catalog.format('grant select on public.orders to %I', session_user); end $$`
  await tenant.query(`alter database tsdb reset role`)
  // In another transaction than the one that cleans up behind itself.
  await tenant.query('select pg_catalog.pg_advisory_lock(7)')
  const holding = run('select pg_catalog.pg_advisory_lock(7)', { timeout_seconds: 60 })
  const name = await until(async () => Object(await roles())[0]?.rolname as string | undefined)
  await tenant.query(`grant select on public.orders to ${name}`)
  await tenant.query('select pg_catalog.pg_advisory_unlock(7)')
  expect((await holding).status).toBe(200)
  expect((await run(granting, { mode: 'write' })).status).toBe(200)
  const left = await tenant.query(
    `select rolcanlogin, (select count(*)::int from pg_catalog.pg_auth_members m where m.member = r.oid) as memberships
     from pg_catalog.pg_roles r where rolname = $1`,
    [name],
  )
  expect(left.rows).toEqual([{ rolcanlogin: false, memberships: 0 }])
  await tenant.query(`revoke select on public.orders from ${name}`)
  await asSuperuser(`create role howdah_query_0123456789abcdef valid until '2020-01-01'`)
  // A role of such a name that the tenant made is the tenant's.
  await tenant.query(`create role howdah_query_fedcba9876543210 valid until '2020-01-01'`)
  await howdah.restart()
  await until(async () => (await roles()).length === 1, { what: 'the left roles are removed' })
  expect(await roles()).toEqual([{ rolname: 'howdah_query_fedcba9876543210' }])
})

async function asSuperuser(sql: string): Promise<void> {
  const region = `${howdah.config.data_dir}/local`
  const node = nodeOf(region, service.service_id, service.endpoint.port, as_root)
  await withSuperuser(node, {}, (client) => client.query(sql))
}
