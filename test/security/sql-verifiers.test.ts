// Verifiers of passwords: only the pooler's role reads them. And what a tenant reads of its log names no path of the host.
import { expect, test } from 'vitest'
import { loginTo, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'
import {
  asSuperuser,
  asTenant,
  changePassword,
  expectGoesOn,
  makeOld,
  newTenant,
  restartServer,
  tenantSession,
} from './tenant.ts'

const { newWorld } = useWorlds()

test('the master role reads no verifier, its own neither, by any table, view or function', async () => {
  const tenant = await newTenant(await newWorld())
  await asTenant(tenant, `create role app login password 'app'`)
  for (const attempt of [
    'select rolpassword from pg_catalog.pg_authid',
    'select passwd from pg_catalog.pg_shadow',
    'table pg_catalog.pg_authid',
    'copy pg_catalog.pg_authid to stdout',
    `select * from pg_catalog.pg_read_file('global/1260')`,
    'grant pg_read_all_data to tsdbadmin',
    'grant pg_read_all_data to app',
    'set role pg_read_all_data',
  ]) {
    await expect(asTenant(tenant, attempt), attempt).rejects.toThrow(/denied/)
  }
  expect(await asTenant(tenant, `select count(*) from pg_catalog.howdah_pooler_lookup('app')`)).toBe('0')
  await expectGoesOn(tenant)
})

test('a service from before loses what let its roles read verifiers, and the events say so', async () => {
  const tenant = await newTenant(await newWorld())
  await makeOld(tenant)
  await asTenant(tenant, `create role reader login password 'reader'`)
  await asTenant(tenant, 'grant pg_read_all_data to reader with admin option')
  expect(await asTenant(tenant, 'select count(*) > 0 from pg_authid where rolpassword is not null')).toBe('true')
  await restartServer(tenant)
  const { events } = await settle(tenant.provider, tenant.wanted)
  expect(events.map(({ message }) => message).join()).toContain('pg_read_all_data')
  for (const login of [{}, { user: 'reader', password: 'reader' }]) {
    await expect(asTenant(tenant, 'select rolpassword from pg_authid', login)).rejects.toThrow(/denied/)
    await expect(asTenant(tenant, 'select 1', { ...login, database: 'postgres' })).rejects.toThrow(/denied/)
  }
  expect((await settle(tenant.provider, tenant.wanted)).events).toEqual([])
  await expectGoesOn(tenant)
})

test('the master role reads all data of the roles that it made, as a dump does', async () => {
  const tenant = await newTenant(await newWorld())
  await asTenant(tenant, `create role maker createrole login password 'maker'`)
  await asTenant(tenant, `create role app login password 'app'`, { user: 'maker', password: 'maker' })
  for (const [user, schema] of [
    ['maker', 'of_maker'],
    ['app', 'of_app'],
  ] as const) {
    await asTenant(tenant, `create schema ${schema} authorization ${user}`)
    const login = { user, password: user }
    await asTenant(tenant, `create table ${schema}.t as select 7 as n; create sequence ${schema}.s`, login)
    await asTenant(tenant, `revoke all on ${schema}.t, ${schema}.s from public`, login)
  }
  const session = await tenantSession(tenant)
  await session.query('begin isolation level repeatable read read only')
  for (const schema of ['of_maker', 'of_app']) {
    await session.query(`lock table ${schema}.t in access share mode`)
    expect((await session.query(`select n from ${schema}.t`)).rows).toEqual([{ n: 7 }])
    expect((await session.query(`select last_value from ${schema}.s`)).rowCount).toBe(1)
  }
  await session.query('commit')
  await session.end()
})

test('a new password of the master role is visible to no role in the list of sessions', async () => {
  const tenant = await newTenant(await newWorld())
  const watching = await tenantSession(tenant)
  const seen: string[] = []
  const changing = changePassword(tenant).then(() => 'changed')
  const poll = async () => {
    const { rows } = await watching.query<{ query: string }>(
      `select query from pg_stat_activity where usename = 'postgres'`,
    )
    seen.push(...rows.map(({ query }) => query))
  }
  await until(async () => {
    await poll()
    return await Promise.race([changing, poll().then(() => undefined)])
  })
  expect(seen.filter((query) => query !== '')).toEqual([])
  await watching.end()
  await asSuperuser(tenant, async (client) => {
    const { rows } = await client.query('select query from pg_catalog.pg_stat_activity where pid = pg_backend_pid()')
    expect(rows).toEqual([{ query: '' }])
  })
})

test('an entry of a failed login shows no path of the host, and is found by its words', async () => {
  const tenant = await newTenant(await newWorld())
  const { provider, wanted, world } = tenant
  await expect(loginTo(provider, wanted, { password: 'wrong' })).rejects.toThrow(/authentication failed/)
  await expect(loginTo(provider, wanted, { tls: false })).rejects.toThrow(/no encryption/)
  const query = { cursor: undefined, skip: 0, limit: 500, severities: [] }
  const found = await until(async () => {
    const page = await provider.logs.page(wanted.service_id, { ...query, search: ['password authentication failed'] })
    return 'entries' in page && page.entries[0]
  })
  expect(found.message).toMatch(/Connection matched file "\[masked\]\/\S*pg_hba.conf" line \d+/)
  const all = await provider.logs.page(wanted.service_id, { ...query, search: [] })
  if (!('entries' in all)) throw new Error(JSON.stringify(all))
  expect(all.entries.filter(({ message }) => message.includes(world.directory))).toEqual([])
  const by_path = await provider.logs.page(wanted.service_id, { ...query, search: [world.directory] })
  expect(by_path).toMatchObject({ entries: [] })
  const by_name = await provider.logs.page(wanted.service_id, { ...query, search: ['pg_hba.conf" line'] })
  expect(by_name).toMatchObject({ entries: [{ severity: 'FATAL' }] })
})
