// A session that asked to read only reads only, whatever it tries, or is not let in. Each attack is written out.
import { expect, test } from 'vitest'
import { type Login, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { newSet, settleSet, untilRead } from '#test/replica-set/set-fixture.ts'
import {
  asSuperuser,
  asTenant,
  change,
  expectForks,
  newTenant,
  restartServer,
  type Tenant,
  tenantSession,
} from './tenant.ts'

const { newWorld } = useWorlds()
const asks = '-c tsdb_admin.read_only_connection=true'
const agent: Login = { user: 'agent', password: 'of the agent' }
const makeAgent = `select timescale_functions.create_bare_readonly_role('agent', 'of the agent')`

/** With which the session goes on as if it had never asked; then it writes. */
const escapes = [
  'set transaction read write',
  'set default_transaction_read_only = off',
  'set session characteristics as transaction read write',
  'reset default_transaction_read_only',
  'reset all',
  'discard all',
  'set tsdb_admin.read_only_connection = off',
  'set tsdb_admin.read_only_role = off; reset all',
  'set role tsdbadmin',
  'set role none; set default_transaction_read_only = off',
  'set session authorization tsdbadmin',
  'set event_triggers = off',
  'set session_replication_role = replica',
  `select set_config('default_transaction_read_only', 'off', false)`,
  `select set_config('transaction_read_only', 'off', false)`,
  'begin read write',
  `do $$ begin set transaction read write; end $$`,
  'set default_transaction_read_only = off; alter role agent reset tsdb_admin.read_only_role',
  'set default_transaction_read_only = off; alter role agent set tsdb_admin.read_only_role = off',
  'set default_transaction_read_only = off; alter role agent reset all',
  'set default_transaction_read_only = off; alter role agent createdb',
  'set default_transaction_read_only = off; grant tsdbadmin to agent',
  `set default_transaction_read_only = off; select timescale_functions.grant_tsdbadmin_to_role('agent')`,
]
const writes = [
  'insert into kept values (2)',
  'update kept set n = 3',
  'delete from kept',
  'truncate kept',
  'create table public.of_agent (n int)',
  'create schema of_agent',
  `select nextval('counted')`,
  'select written()',
  'copy kept from program $$echo 4$$',
  'alter table kept add column m int',
  `comment on table kept is 'seen'`,
  'drop table kept',
  'create role of_agent',
  'create database of_agent',
  'refresh materialized view seen',
]

/** What would let the role write, how it is taken back, and what the refusal says. */
const ways = [
  ['grant insert on kept to agent', 'revoke insert on kept from agent', 'INSERT on public.kept is granted to agent'],
  ['grant update on kept to public', 'revoke update on kept from public', 'UPDATE on public.kept is granted to PUBLIC'],
  ['grant update (n) on kept to agent', 'revoke update (n) on kept from agent', 'UPDATE on a column of public.kept'],
  [
    'grant usage on sequence counted to agent',
    'revoke usage on sequence counted from agent',
    'USAGE on public.counted',
  ],
  [
    'grant create on schema public to agent',
    'revoke create on schema public from agent',
    'CREATE on the schema public',
  ],
  [
    'grant create on database tsdb to agent',
    'revoke create on database tsdb from agent',
    'CREATE on the database tsdb',
  ],
  [
    'create role writer; grant writer to agent; grant delete on kept to writer',
    'drop owned by writer; drop role writer',
    'DELETE on public.kept is granted to writer',
  ],
  [
    'create role maker createdb; grant maker to agent with inherit false',
    'drop role maker',
    'the role maker may make roles or databases',
  ],
  ['grant pg_signal_backend to agent', 'revoke pg_signal_backend from agent', 'it is a member of pg_signal_backend'],
  [
    'create function f() returns void language sql security definer begin atomic insert into kept values (5); end',
    'drop function f()',
    'the function public.f() is security definer',
  ],
  [
    `create function g(int, int) returns int language sql security definer begin atomic insert into kept values (6) returning 1; end;
     revoke execute on function g from public; create aggregate through(int) (sfunc = g, stype = int)`,
    'drop aggregate through(int); drop function g',
    'the function public.g(integer,integer) is security definer',
  ],
] as const

/** What belongs to the control plane stays. */
const removals = [
  'drop event trigger howdah_read_only_login',
  'alter event trigger howdah_read_only_login disable',
  'drop extension plpgsql cascade',
  'alter extension plpgsql drop event trigger howdah_read_only_login',
  'drop schema timescale_functions cascade',
  'drop function timescale_functions.grant_tsdbadmin_to_role(text)',
  'drop function pg_catalog.howdah_read_only_login() cascade',
  'alter database tsdb set event_triggers = off',
  'alter role agent set event_triggers = off',
  'alter role agent set tsdb_admin.read_only_connection = off',
]

test('a role that has only rights to read reads only; one right more, and it is not let in', async () => {
  const tenant = await newTenant(await newWorld())
  await asTenant(tenant, tables)
  await asTenant(tenant, makeAgent)
  await asTenant(tenant, 'grant select on all tables in schema public to agent')
  expect(await asTenant(tenant, 'select n from kept', agent)).toBe('1')
  expect(await asTenant(tenant, 'show transaction_read_only', agent)).toBe('on')
  expect(await written(tenant, agent)).toEqual([])
  // What a session says at its start does not undo what its role is set to.
  const denies = '-c tsdb_admin.read_only_role=off -c default_transaction_read_only=off'
  expect(await asTenant(tenant, 'show transaction_read_only', { ...agent, options: denies })).toBe('on')
  const unheard = asTenant(tenant, 'select 1', { ...agent, options: '-c event_triggers=off' })
  await expect(unheard).rejects.toThrow('permission denied')
  for (const [give, take, why] of ways) {
    await asTenant(tenant, give)
    await expect(asTenant(tenant, 'select 1', agent), give).rejects.toThrow(why)
    await asTenant(tenant, take)
  }
  for (const removal of removals)
    await expect(asTenant(tenant, removal), removal).rejects.toThrow(/must be owner|denied/)
  expect(await asTenant(tenant, 'select n from kept', agent)).toBe('1')
  await expectHelpers(tenant)
  // The master role can write: it is refused, and what would lock it out for good is undone.
  await expect(asTenant(tenant, 'select 1', { options: asks })).rejects.toThrow(refused)
  expect(await asTenant(tenant, 'select 1', { options: '-c tsdb_admin.read_only_connection=off' })).toBe('1')
  await asTenant(tenant, 'alter role tsdbadmin set tsdb_admin.read_only_role = true')
  await expect(asTenant(tenant, 'select 1')).rejects.toThrow(refused)
  await change(tenant, {})
  expect(await asTenant(tenant, 'select sum(n) from kept')).toBe('1')
})

test('at a replica set every role reads only, the master role too', async () => {
  const tenant = await newTenant(await newWorld())
  await asTenant(tenant, tables)
  await asTenant(tenant, makeAgent)
  await asTenant(tenant, `select timescale_functions.grant_tsdbadmin_to_role('agent')`)
  await expect(asTenant(tenant, 'select 1', agent)).rejects.toThrow(/could write.*log in at a read replica set/)
  const { world, provider, wanted } = tenant
  const set = await newSet({ world, provider, service: wanted })
  await settleSet(provider, set)
  await untilRead(provider, set, 'select n from kept', '1')
  const there: Tenant = { ...tenant, wanted: { ...wanted, reach: set.reach } }
  expect(await written(there, agent)).toEqual([])
  expect(await written(there, { options: asks })).toEqual([])
  expect(await asTenant(there, 'select n from kept', { ...agent, options: asks })).toBe('1')
})

test('every database holds it: of an older service, of a fork, made anew, and made from an empty template', async () => {
  const tenant = await newTenant(await newWorld())
  await asTenant(tenant, 'create database elsewhere; ')
  await makeUnwatched(tenant, ['tsdb', 'elsewhere', 'template1', 'template0'])
  expect(await asTenant(tenant, 'select 1', { options: asks })).toBe('1')
  await restartServer(tenant)
  await settle(tenant.provider, tenant.wanted)
  await asTenant(tenant, 'create database of_nothing template template0')
  await asTenant(tenant, 'drop database tsdb', { database: 'elsewhere' })
  await asTenant(tenant, 'create database tsdb', { database: 'elsewhere' })
  for (const database of ['tsdb', 'elsewhere', 'of_nothing']) {
    await expect(asTenant(tenant, 'select 1', { database, options: asks }), database).rejects.toThrow(refused)
    expect(
      await asTenant(tenant, `select count(*) from pg_proc where pronamespace = 'timescale_functions'::regnamespace`, {
        database,
      }),
    ).toBe('3')
  }
  await asTenant(tenant, makeAgent)
  const in_template = asTenant(tenant, 'select 1', { database: 'template0' })
  await expect(in_template).rejects.toThrow(/permission denied|not currently accepting/)
  await expectForks(tenant)
  const source = { service_id: tenant.wanted.service_id, moment: 'now' } as const
  const fork = { ...(await newTenant(tenant.world, { source })), password: 'first password' }
  await expect(asTenant(fork, 'select 1', { options: asks })).rejects.toThrow(refused)
  expect(await asTenant(fork, 'show transaction_read_only', agent)).toBe('on')
})

const refused = 'a session of tsdbadmin cannot be held read-only by this server, because it could write'

const tables = `
  create table kept as select 1 as n;
  create sequence counted;
  create materialized view seen as select n from kept;
  create function written() returns void language sql begin atomic insert into kept values (7); end`

/** Which of the writes succeeded, after which escape. */
async function written(tenant: Tenant, login: Login): Promise<string[]> {
  const client = await tenantSession(tenant, login)
  const succeeded: string[] = []
  try {
    for (const escape of escapes) {
      for (const write of writes) {
        await client.query(escape).catch(() => undefined)
        const wrote = await client.query(write).then(
          () => true,
          () => false,
        )
        if (wrote) succeeded.push(`${escape}; ${write}`)
        await client.query('rollback')
      }
    }
  } finally {
    await client.end()
  }
  return succeeded
}

async function expectHelpers(tenant: Tenant): Promise<void> {
  const make = (name: string, password = 'long enough') =>
    asTenant(tenant, `select timescale_functions.create_bare_readonly_role('${name}', '${password}')`)
  for (const name of ['postgres', 'tsdbadmin', 'howdah_pooler', 'HOWDAH_x', 'pg_x', 'public', 'none']) {
    await expect(make(name), name).rejects.toThrow('is reserved')
  }
  await expect(make('agent')).rejects.toThrow('the role agent exists')
  await expect(make('')).rejects.toThrow('a role needs a name')
  await expect(make('x'.repeat(64))).rejects.toThrow('at most 63 bytes')
  await expect(make('hasty', 'short')).rejects.toThrow('8 to 256 characters')
  await make('odd"; drop role agent; --')
  const grantTo = (name: string) => asTenant(tenant, `select timescale_functions.grant_tsdbadmin_to_role('${name}')`)
  for (const name of ['postgres', 'howdah_standby', 'pg_monitor', 'tsdbadmin']) {
    await expect(grantTo(name), name).rejects.toThrow('is reserved')
  }
  await expect(grantTo('missing')).rejects.toThrow('there is no role missing')
  // As the master role itself makes one: it can be given all that the master role may do, and be dropped again.
  await asTenant(tenant, `create role deputy login password 'of the deputy'`)
  await grantTo('deputy')
  const deputy: Login = { user: 'deputy', password: 'of the deputy' }
  expect(await asTenant(tenant, 'set role tsdbadmin; select n from kept', deputy)).toBe('1')
  await expect(asTenant(tenant, 'drop role deputy')).rejects.toThrow('permission denied')
  await asTenant(tenant, `select timescale_functions.revoke_tsdbadmin_from_role('deputy')`)
  await asTenant(tenant, 'drop role deputy')
  await asTenant(
    tenant,
    `alter role agent password 'of the agent'; alter role agent set tsdb_admin.read_only_role = true`,
  )
  // Another role, with names of its own in front, may not call them.
  await asTenant(tenant, `create role guest login password 'of the guest'`)
  const guest: Login = { user: 'guest', password: 'of the guest', options: '-c search_path=pg_temp,pg_catalog' }
  const call = asTenant(tenant, `select timescale_functions.grant_tsdbadmin_to_role('guest')`, guest)
  await expect(call).rejects.toThrow('permission denied')
}

/** As databases were made before: without trigger and helpers. */
async function makeUnwatched(tenant: Tenant, databases: readonly string[]): Promise<void> {
  const drop = `
    set event_triggers = off;
    alter extension plpgsql drop event trigger howdah_read_only_login;
    drop event trigger howdah_read_only_login;
    alter extension plpgsql drop schema timescale_functions;
    do $$ declare f regprocedure; begin
      for f in select p.oid from pg_proc p where p.pronamespace = 'timescale_functions'::regnamespace
          or p.oid = 'pg_catalog.howdah_read_only_login()'::regprocedure loop
        execute format('alter extension plpgsql drop function %s', f); execute format('drop function %s', f);
      end loop;
    end $$;
    drop schema timescale_functions;
    update pg_database set dathasloginevt = false where datname = current_database()`
  const before = 'alter database template0 allow_connections true'
  const after =
    'alter database template0 allow_connections false; revoke set on parameter tsdb_admin.read_only_role from tsdbadmin'
  await asSuperuser(tenant, (client) => client.query(before))
  for (const database of databases) await asSuperuser(tenant, (client) => client.query(drop), database)
  await asSuperuser(tenant, (client) => client.query(after))
}
