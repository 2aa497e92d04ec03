// The names of the control plane's own roles: a tenant that made a role of such a name first gets no right by it, and no
// role of a tenant ever starts a walsender, however it asks.
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { why_no_pooler } from '#test/pooler/pooled.ts'
import { settle, useWorlds } from '#test/provider/service-fixture.ts'
import {
  asSuperuser,
  asTenant,
  change,
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
const replicas = { replica_count: 1, sync_replica_count: 0, switchovers: 0 }

const has = (tenant: Tenant, attribute: string, role: string) =>
  asTenant(tenant, `select bool_or(${attribute}) from pg_roles where rolname = '${role}'`)

/** A replication connection over TCP, as a thief of the whole cluster opens it. */
async function stream({ provider, wanted }: Tenant, user: string, password: string, replication: 'true' | 'database') {
  // With a member that the driver knows, but not its types.
  const settings = {
    ...wanted.reach,
    user,
    password,
    database: 'tsdb',
    ssl: { ca: provider.authority_pem },
    replication,
  }
  const client = new pg.Client(settings)
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('IDENTIFY_SYSTEM')
    return 'streams'
  } catch (error) {
    return String(error)
  } finally {
    await client.end().catch(() => undefined)
  }
}

test('a tenant that made howdah_standby first gets no replication by setHA, and is told to drop the role', async () => {
  const tenant = await newTenant(await newWorld())
  await makeOld(tenant)
  await asTenant(tenant, `create role howdah_standby login password 'mine'`)
  await restartServer(tenant)
  const wanted = { ...tenant.wanted, generation: 2, ha: replicas }
  const observed = await tenant.provider.service.apply(wanted)
  expect(observed).toMatchObject({ state: 'serving', settled: false })
  expect(observed.waiting_for).toMatch(/role howdah_standby .* (rename|drop)/)
  expect(await has(tenant, 'rolreplication', 'howdah_standby')).toBe('false')
  await asTenant(tenant, 'alter role howdah_standby rename to thief')
  expect(await settle(tenant.provider, wanted)).toMatchObject({ state: 'serving' })
  expect(await has(tenant, 'rolreplication', 'thief')).toBe('false')
  for (const replication of ['true', 'database'] as const) {
    expect(await stream(tenant, 'thief', 'mine', replication)).not.toBe('streams')
  }
  tenant.wanted = wanted
  await expectGoesOn(tenant)
})

test.skipIf(why_no_pooler)(
  `a tenant that made howdah_pooler first gets no verifier by enablePooler${why_no_pooler}`,
  async () => {
    const tenant = await newTenant(await newWorld())
    const { pooler, ...direct } = tenant.wanted
    tenant.wanted = direct
    await change(tenant, {})
    await makeOld(tenant)
    await asTenant(tenant, `create role howdah_pooler login password 'mine'; grant howdah_pooler to tsdbadmin`)
    await restartServer(tenant)
    const wanted = { ...direct, generation: 3, ...(pooler && { pooler }) }
    const observed = await tenant.provider.service.apply(wanted)
    expect(observed).toMatchObject({ state: 'serving', settled: false })
    expect(observed.waiting_for).toMatch(/role howdah_pooler .* (rename|drop)/)
    await asTenant(tenant, 'drop role howdah_pooler')
    tenant.wanted = wanted
    await expectGoesOn(tenant)
  },
)

test.skipIf(why_no_pooler)(
  `a session that was opened as howdah_pooler before the control plane made that role gets no verifier${why_no_pooler}`,
  async () => {
    const tenant = await newTenant(await newWorld())
    await makeOld(tenant)
    // The maker is dropped, so that no membership is left by which the role would be known as a tenant's.
    await asTenant(tenant, `create role maker createrole login password 'mine'`)
    await asTenant(tenant, `create role mine login password 'mine'`, { user: 'maker', password: 'mine' })
    const session = await tenantSession(tenant, { user: 'mine', password: 'mine' })
    onTestFinished(() => session.end().catch(() => undefined))
    await asTenant(tenant, `alter role mine rename to howdah_pooler`, { user: 'maker', password: 'mine' })
    await asTenant(tenant, `alter role howdah_pooler password null`, { user: 'maker', password: 'mine' })
    await asTenant(tenant, 'drop role maker')
    await restartServer(tenant)
    await expectGoesOn(tenant)
    const stolen = await session.query(`select * from pg_catalog.howdah_pooler_lookup('tsdbadmin')`).then(
      ({ rows }) => rows,
      () => [],
    )
    expect(stolen).toEqual([])
  },
)

test('what an earlier server gave away is taken back: REPLICATION of a tenant, and its open stream', async () => {
  const tenant = await newTenant(await newWorld())
  await makeOld(tenant)
  await asTenant(tenant, `create role thief login password 'mine'`)
  await asSuperuser(tenant, (client) => client.query('alter role thief replication'))
  expect(await stream(tenant, 'thief', 'mine', 'database')).toBe('streams')
  await restartServer(tenant)
  await settle(tenant.provider, tenant.wanted)
  expect(await has(tenant, 'rolreplication', 'thief')).toBe('false')
  expect(await stream(tenant, 'thief', 'mine', 'database')).toMatch(/permission denied/)
})

test('a tenant can do nothing to or with the roles of the control plane, and none of its roles can stream', async () => {
  const tenant = await newTenant(await newWorld())
  await asTenant(tenant, `create role app login createrole password 'app'`)
  for (const role of ['howdah_standby', 'howdah_pooler', 'postgres']) {
    for (const attempt of [
      `alter role ${role} password 'mine'`,
      `alter role ${role} nologin`,
      `alter role ${role} valid until '2020-01-01'`,
      `alter role ${role} connection limit 0`,
      `alter role ${role} set search_path = evil`,
      `alter role ${role} in database tsdb set search_path = evil`,
      `alter role ${role} rename to mine`,
      `comment on role ${role} is 'mine'`,
      `drop role ${role}`,
      `drop owned by ${role}`,
      `reassign owned by ${role} to tsdbadmin`,
      `grant ${role} to tsdbadmin`,
      `grant tsdbadmin to ${role}`,
      `set role ${role}`,
      `set session authorization ${role}`,
      `alter default privileges for role ${role} grant select on tables to public`,
      `create schema mine authorization ${role}`,
    ]) {
      await expect(asTenant(tenant, attempt), attempt).rejects.toThrow(/denied|must be|reserved|cannot/)
    }
    await expect(asTenant(tenant, `create role ${role}`)).rejects.toThrow(/already exists/)
    await expect(asTenant(tenant, `alter role app rename to ${role}`)).rejects.toThrow(/already exists/)
  }
  for (const attempt of ['create role thief replication', 'alter role app replication', 'alter role app bypassrls']) {
    await expect(asTenant(tenant, attempt), attempt).rejects.toThrow(/denied/)
  }
  for (const [user, password] of [
    ['tsdbadmin', tenant.password],
    ['app', 'app'],
    ['howdah_standby', ''],
    ['howdah_pooler', ''],
    ['postgres', ''],
  ] as const) {
    for (const replication of ['true', 'database'] as const) {
      expect(await stream(tenant, user, password || 'guess', replication), `${user} ${replication}`).not.toBe('streams')
    }
  }
  await expectGoesOn(tenant)
  await expectForks(tenant)
  await expectFailsOver(tenant)
})
