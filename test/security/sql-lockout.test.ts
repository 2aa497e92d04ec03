// A tenant that locks itself and the control plane out: timeouts of a millisecond, locks, limits of zero, a database that is
// renamed or dropped. The service heals, or says in its events what the tenant must undo; it is never READY in silence.
import type pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { ServiceSource } from '#providers/provider.ts'
import { newWanted, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'
import {
  asTenant,
  change,
  changePassword,
  expectFailsOver,
  expectForks,
  expectGoesOn,
  makeOld,
  newTenant,
  restartServer,
  type Tenant,
  tenantSession,
} from './tenant.ts'

const { newWorld } = useWorlds()

const one_ms = ['statement_timeout', 'lock_timeout', 'idle_session_timeout', 'transaction_timeout']
const odd = [
  'default_transaction_read_only = on',
  `default_transaction_isolation = 'serializable'`,
  'default_transaction_deferrable = on',
  'idle_in_transaction_session_timeout = 1',
  `client_encoding = 'SQL_ASCII'`,
  `datestyle = 'SQL, DMY'`,
  'standard_conforming_strings = off',
  'row_security = off',
  `search_path = 'nowhere'`,
  `role = 'app'`,
]

/** With which the tenant itself gets past its settings. */
const past = { options: ['role=none', ...one_ms.map((name) => `${name}=0`)].map((one) => `-c ${one}`).join(' ') }

test('timeouts of a millisecond and odd defaults of database and role stop nothing that the control plane does', async () => {
  const tenant = await newTenant(await newWorld())
  const { pooler, ...direct } = tenant.wanted
  const session = await tenantSession(tenant, past)
  await session.query('create role app')
  const places = ['database tsdb', 'role tsdbadmin', 'role tsdbadmin in database tsdb', 'role all in database tsdb']
  for (const setting of [...odd, ...one_ms.map((name) => `${name} = 1`)]) {
    for (const place of places) await session.query(`alter ${place} set ${setting}`)
  }
  await session.end()
  expect(await settle(tenant.provider, tenant.wanted)).toMatchObject({ state: 'serving', settled: true })
  await changePassword(tenant)
  tenant.wanted = { ...direct, password_verifier: tenant.wanted.password_verifier, generation: 9 }
  await settle(tenant.provider, tenant.wanted)
  await change(tenant, pooler ? { pooler } : {})
  await expectForks(tenant, past)
  expect(await asTenant(tenant, 'select current_user', past)).toBe('tsdbadmin')
  const undo = await tenantSession(tenant, { options: `${past.options} -c default_transaction_read_only=off` })
  for (const place of places) await undo.query(`alter ${place} reset all`)
  await undo.end()
  await expectGoesOn(tenant)
  await expectFailsOver(tenant)
})

test('a transaction that holds the row of the master role is ended when a new password waits for it, and the events say so', async () => {
  const tenant = await newTenant(await newWorld())
  const session = await tenantSession(tenant)
  onTestFinished(() => session.end().catch(() => undefined))
  await session.query(`begin; alter role tsdbadmin password 'mine'`)
  const { events } = await changePassword(tenant)
  expect(events).toEqual([{ kind: 'session ended', message: expect.stringContaining('waiting for a lock') }])
  expect(await asTenant(tenant, 'select 7')).toBe('7')
  await expect(session.query('commit')).rejects.toThrow()
  await expectGoesOn(tenant)
})

test('transactions that stay open and hold roles, databases, settings or advisory locks delay nothing', async () => {
  const tenant = await newTenant(await newWorld())
  for (const sql of [
    'create role half_made',
    'grant pg_monitor to half_owner',
    `alter role tsdbadmin set work_mem = '8MB'`,
    'create table half_made (n int)',
    'select pg_advisory_xact_lock(n) from generate_series(1, 100) n',
    'revoke connect on database tsdb from howdah_pooler',
  ]) {
    const session = await tenantSession(tenant)
    onTestFinished(() => session.end().catch(() => undefined))
    if (sql.includes('half_owner')) await session.query('create role half_owner')
    await session.query(`begin; ${sql}`)
  }
  await changePassword(tenant)
  expect(await asTenant(tenant, 'select 7')).toBe('7')
  await expectGoesOn(tenant)
})

test('a catalog that a tenant of an earlier server has locked does not delay a new password', async () => {
  const tenant = await newTenant(await newWorld())
  await makeOld(tenant)
  const session = await tenantSession(tenant)
  onTestFinished(() => session.end().catch(() => undefined))
  await session.query('begin; lock pg_catalog.pg_authid in exclusive mode')
  await restartServer(tenant)
  await changePassword(tenant)
  expect(await asTenant(tenant, 'select 7')).toBe('7')
  for (const attempt of [
    'lock pg_catalog.pg_authid in access exclusive mode',
    'lock pg_catalog.pg_database in share mode',
    'lock pg_catalog.pg_auth_members in row exclusive mode',
    'grant pg_maintain to tsdbadmin',
  ]) {
    await expect(asTenant(tenant, `begin; ${attempt}`), attempt).rejects.toThrow(/denied/)
  }
  await asTenant(tenant, 'vacuum full pg_catalog.pg_authid')
  await expectGoesOn(tenant)
})

const locked_out = {
  'a connection limit of zero': 'alter database tsdb connection limit 0',
  'no connections at all': 'alter database tsdb allow_connections false',
  'no right to connect': 'revoke connect on database tsdb from public, tsdbadmin, howdah_pooler',
  'a library that is not there': `alter database tsdb set local_preload_libraries = 'nowhere'`,
  'a library that is not there, by its role': `alter role tsdbadmin set local_preload_libraries = 'nowhere'`,
  'no password': 'alter role tsdbadmin password null',
} as const

test('a tenant that has locked itself out of its database is let in again, whatever way it took', async () => {
  const tenant = await newTenant(await newWorld())
  await asTenant(tenant, 'create database other')
  for (const [what, sql] of Object.entries(locked_out)) {
    const messages: string[] = []
    await asTenant(tenant, sql, { database: 'other' })
    await expect(asTenant(tenant, 'select 1'), what).rejects.toThrow()
    await restartServer(tenant)
    const { events, ...observed } = await settle(tenant.provider, tenant.wanted)
    messages.push(...events.map(({ message }) => message))
    expect(observed, what).toMatchObject({ state: 'serving', settled: true })
    expect(await asTenant(tenant, 'select 7'), what).toBe('7')
    if (what !== 'no password') expect(messages.join(), what).toContain('a login as tsdbadmin works again')
  }
  await expectGoesOn(tenant)
})

test('a routine pass finds out that logins fail, though the first half of a login works', async () => {
  const tenant = await newTenant(await newWorld())
  await asTenant(tenant, 'create database other')
  await asTenant(tenant, 'alter database tsdb connection limit 0', { database: 'other' })
  const now = performance.now.bind(performance)
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 300_000)
  onTestFinished(() => clock.mockRestore())
  await tenant.provider.service.apply(tenant.wanted)
  expect(await asTenant(tenant, 'select 7')).toBe('7')
})

test('a database that was renamed or dropped is said to be missing, with what to do, and the service serves after that', async () => {
  const tenant = await newTenant(await newWorld())
  await asTenant(tenant, 'create table kept as select 7 as n')
  await asTenant(tenant, 'create database other')
  const inOther = (sql: string) => asTenant(tenant, sql, { database: 'other' })
  await inOther('alter database tsdb rename to mine')
  await restartServer(tenant)
  const observed = await tenant.provider.service.apply(tenant.wanted)
  expect(observed).toMatchObject({ state: 'not_serving', settled: false })
  expect(observed.waiting_for).toMatch(/there is no database tsdb.*mine.*rename to tsdb/)
  await expectUndone(tenant, () => inOther('alter database mine rename to tsdb'))
  expect(await asTenant(tenant, 'select n from kept')).toBe('7')

  await inOther('drop database tsdb with (force)')
  expect((await tenant.provider.service.apply(nextOf(tenant))).waiting_for).toMatch(/there is no database tsdb/)
  await expectUndone(tenant, () => inOther('create database tsdb template template0'))
  await expectForks(tenant)

  // Without any other door the tenant could not undo it.
  await inOther('drop database tsdb with (force)')
  await inOther('alter database other connection limit 0')
  await settle(tenant.provider, nextOf(tenant))
  expect(await asTenant(tenant, 'select 7')).toBe('7')
})

const nextOf = (tenant: Tenant) => (tenant.wanted = { ...tenant.wanted, generation: tenant.wanted.generation + 1 })

async function expectUndone(tenant: Tenant, undo: () => Promise<unknown>): Promise<void> {
  await undo()
  await settle(tenant.provider, tenant.wanted)
  await expectGoesOn(tenant)
}

test('while a tenant has taken all connections the control plane does all its work', async () => {
  const tenant = await newTenant(await newWorld())
  const sessions: pg.Client[] = []
  onTestFinished(async () => void (await Promise.allSettled(sessions.map((session) => session.end()))))
  await until(
    async () => {
      try {
        sessions.push(await tenantSession(tenant))
        return false
      } catch (error) {
        return /reserved|too many/.test(String(error))
      }
    },
    { interval_ms: 1 },
  )
  expect(sessions.length).toBeGreaterThanOrEqual(38)
  expect(await settle(tenant.provider, nextOf(tenant))).toMatchObject({ state: 'serving', settled: true })
  const { pooler, ...direct } = tenant.wanted
  tenant.wanted = direct
  await change(tenant, {})
  await change(tenant, { ...(pooler && { pooler }), ha: { replica_count: 1, sync_replica_count: 1, switchovers: 0 } })
  const source: ServiceSource = { service_id: tenant.wanted.service_id, moment: 'now' }
  const fork = await newWanted(tenant.provider, { size: 'shared', source })
  await settle(tenant.provider, fork)
  await changePassword(tenant)
  await sessions.pop()?.end()
  expect(await until(() => asTenant(tenant, 'select 7'))).toBe('7')
})
