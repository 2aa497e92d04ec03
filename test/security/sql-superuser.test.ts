// The way from SQL to superuser by the control plane's own sessions: whatever a tenant puts in front of a name, no session
// of the control plane runs it.
import { expect, test } from 'vitest'
import { why_no_pooler } from '#test/pooler/pooled.ts'
import { useWorlds } from '#test/provider/service-fixture.ts'
import {
  asTenant,
  expectFailsOver,
  expectForks,
  expectGoesOn,
  layTraps,
  makeOld,
  newTenant,
  restartServer,
  trapped,
} from './tenant.ts'

const { newWorld } = useWorlds()
const is_super = `select bool_or(rolsuper) from pg_catalog.pg_roles where rolname = 'tsdbadmin'`

test.skipIf(why_no_pooler)(
  `views over catalogs in front of the search path are run by no session when the pooler is enabled twice${why_no_pooler}`,
  async () => {
    const tenant = await newTenant(await newWorld())
    await layTraps(tenant)
    await expectGoesOn(tenant)
    await expectGoesOn(tenant)
    expect(await trapped(tenant)).toBe('nobody')
    expect(await asTenant(tenant, is_super)).toBe('false')
    await expect(asTenant(tenant, `create table t (a text); copy t from program 'id'`)).rejects.toThrow(/denied/)
    await expectForks(tenant)
    await expectFailsOver(tenant)
    expect(await trapped(tenant)).toBe('nobody')
    expect(await asTenant(tenant, is_super)).toBe('false')
  },
)

test('a view over pg_extension is run by no session when a service with extensions gets a new password', async () => {
  const tenant = await newTenant(await newWorld(), { extensions: ['pg_trgm'] })
  await layTraps(tenant)
  await expectGoesOn(tenant)
  expect(await trapped(tenant)).toBe('nobody')
  expect(await asTenant(tenant, is_super)).toBe('false')
})

test('traps in a service from before are run by no session when the server is upgraded', async () => {
  const tenant = await newTenant(await newWorld(), { extensions: ['pg_trgm'] })
  await layTraps(tenant)
  await makeOld(tenant)
  await restartServer(tenant)
  await expectGoesOn(tenant)
  expect(await trapped(tenant)).toBe('nobody')
  expect(await asTenant(tenant, is_super)).toBe('false')
})

test('an extension that got lost is made again without running a trap, and what is in its way is said', async () => {
  const tenant = await newTenant(await newWorld(), { extensions: ['pg_trgm'] })
  await asTenant(tenant, 'drop schema public cascade')
  await asTenant(tenant, 'create schema public')
  await layTraps(tenant)
  // The script of the extension would replace, call or adopt what it finds under these names.
  await asTenant(
    tenant,
    `create function public.similarity(text, text) returns real language sql as 'select case when evil.pwn() then 1::real end';
     create type public.gtrgm as (n int);
     create function evil.similarity(text, text) returns real language sql as 'select case when evil.pwn() then 1::real end'`,
  )
  await expectGoesOn(tenant)
  const observed = await tenant.provider.service.apply(tenant.wanted)
  expect(observed).toMatchObject({ state: 'serving', settled: true, waiting_for: expect.stringContaining('pg_trgm') })
  expect(observed.waiting_for).toMatch(/already exists in schema "public"/)
  expect(await asTenant(tenant, `select count(*) from pg_namespace where nspname like 'howdah%'`)).toBe('0')
  await asTenant(tenant, 'drop function public.similarity(text, text); drop type public.gtrgm')
  await expectGoesOn(tenant)
  expect((await tenant.provider.service.apply(tenant.wanted)).waiting_for).toBeUndefined()
  expect(await asTenant(tenant, `select public.similarity('word', 'word')`)).toBe('1')
  expect(await trapped(tenant)).toBe('nobody')
  expect(await asTenant(tenant, is_super)).toBe('false')
})
