// Addresses: services, poolers and replica sets take them from one table, and the store itself refuses a second owner, whatever writes
// the rows.
import { shared } from '#test/shared.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { NoAddress, type Provider } from '#providers/provider.ts'
import { storeIsUnreachable } from '#server/store/db.ts'
import { type AddressRole, findLeaving, releaseAddresses, takeAddress } from '#server/address.ts'
import { newId } from '#server/id.ts'
import { findService, lockServiceOfProject, removeService } from '#server/service/store.ts'
import { migrate } from '#server/store/migrate.ts'
import { until } from '#test/until.ts'
import { openTestDb, withDb } from './test-store.ts'

const db = shared(openTestDb)

beforeAll(async () => {
  await db.query(`insert into projects (id, name) values ('project000', 'p')`)
})

beforeEach(async () => {
  for (const table of ['addresses', 'replica_sets', 'services']) await db.query(`delete from ${table}`)
})

async function insertService(service_id = newId()): Promise<string> {
  await db.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment, password_verifier)
     values ($1, 'project000', 's', 'local', 'POSTGRES', 'DEV', '')`,
    [service_id],
  )
  return service_id
}

const listPorts = async () =>
  (await db.query<{ port: number }>('select port from addresses order by port')).map(({ port }) => port)

/** Always the same candidates, however many owners ask at once. */
const provider: Pick<Provider, 'addresses'> = {
  *addresses({ cidr }) {
    for (let port = 1000; port < 1020; port += 1) yield { host: cidr ?? '127.0.0.1', port }
    throw new NoAddress('no port is free; delete services')
  },
}

const take = (owner_id: string, role: AddressRole = 'service', vpc?: { id: number; cidr: string }) =>
  db.transaction((tx) => takeAddress(tx, { provider, region_code: 'local', owner_id, role, ...(vpc && { vpc }) }))

test('owners that take an address at the same time each get one of their own', async () => {
  const taken = await Promise.all(Array.from({ length: 12 }, () => take(newId())))
  expect(new Set(taken.map(({ port }) => port)).size).toBe(12)
})

test('a request that waited for the lock of a service finds the addresses that were taken meanwhile', async () => {
  const service = await insertService()
  let waiting: ReturnType<typeof lockServiceOfProject> | undefined
  await db.transaction(async (tx) => {
    await lockServiceOfProject(tx, 'project000', service)
    waiting = db.transaction((other) => lockServiceOfProject(other, 'project000', service))
    await until(async () => (await db.query('select from pg_locks where not granted')).length > 0)
    await takeAddress(tx, { provider, region_code: 'local', owner_id: service, role: 'pooler' })
    await tx.query('update services set pooler = true where service_id = $1', [service])
  })
  expect(await waiting).toMatchObject({ pooler: true, addresses: [{ role: 'pooler', port: 1000 }] })
})

test('an owner has one address for each role and keeps it, and another one in a VPC until it has left', async () => {
  const [row] = await db.query<{ id: number }>(
    `insert into vpcs (project_id, region_code, name, cidr) values ('project000', 'local', 'v', '10.64.0.0/24') returning id`,
  )
  const vpc = { id: row?.id ?? 0, cidr: '10.64.0.0/24' }
  const service = await insertService()
  const home = await take(service)
  expect(await take(service)).toEqual(home)
  const inside = await take(service, 'service', vpc)
  expect(inside).toEqual({ role: 'service', vpc_id: vpc.id, host: vpc.cidr, port: 1000 })
  expect((await take(service, 'pooler')).port).toBe(1001)
  expect((await findService(db, service))?.addresses).toHaveLength(3)
  expect(await findLeaving(db, [service])).toBe(vpc.id)
  await db.transaction((tx) => releaseAddresses(tx, service))
  expect(await findLeaving(db, [service])).toBeUndefined()
  expect(await listPorts()).toEqual([1000, 1001])
  await removeService(db, service)
  expect(await listPorts()).toEqual([])
  await db.query('delete from vpcs')
})

test('the store itself refuses a second owner of an address, and a second address of an owner', async () => {
  const insert = (port: number, owner_id: string) =>
    db.query(
      `insert into addresses (region_code, host, port, owner_id, role) values ('local', 'h', $1, $2, 'service')`,
      [port, owner_id],
    )
  await insert(1, 'one')
  await expect(insert(1, 'other')).rejects.toThrow('address_has_one_owner')
  await expect(insert(2, 'one')).rejects.toThrow('owner_has_one_address')
})

test('addresses of an installation from before the table are in it', async () => {
  const folder = join(import.meta.dirname, '..', '..', 'server', 'store', 'migrations')
  const migrationsUntil = (name: string) =>
    readdirSync(folder)
      .filter((one) => one < name)
      .sort()
      .map((one) => ({ name: one, text: readFileSync(join(folder, one), 'utf8') }))
  await withDb(await db.store.newDatabase(), async (old) => {
    await migrate(old, migrationsUntil('0007'))
    await old.query(`insert into projects (id, name) values ('project000', 'p')`)
    await old.query(
      `insert into services (service_id, project_id, name, region_code, service_type, environment, host, port,
         password_verifier)
       values ('service000', 'project000', 's', 'local', 'POSTGRES', 'DEV', '127.0.0.1', 7, '')`,
    )
    await migrate(old, migrationsUntil('0017'))
    await old.query(`update services set pooler = true, pooler_port = 8`)
    await old.query(
      `insert into replica_sets (replica_set_id, service_id, region_code, name, environment, host, port, nodes,
         cpu_millis, memory_gbs, pooler_port)
       values ('set0000000', 'service000', 'local', 'set', 'DEV', '127.0.0.1', 9, 1, 500, 2, 10)`,
    )
    await old.query(
      `insert into vpcs (project_id, region_code, name, cidr) values ('project000', 'local', 'v', '10.64.0.0/24')`,
    )
    await old.query(
      `insert into vpc_addresses (vpc_id, address, service_id, holder)
       select id, address::inet, 'service000', holder from vpcs, (values ('10.64.0.2', 'service'),
         ('10.64.0.3', 'service/pooler'), ('10.64.0.4', 'set0000000'), ('10.64.0.5', 'set0000000/pooler'))
         as held (address, holder)`,
    )
    await migrate(old)
    const rows = await old.query<{ text: string }>(
      `select concat_ws(' ', host, port, owner_id, role) as text from addresses order by vpc_id nulls first, host, port`,
    )
    expect(rows.map(({ text }) => text)).toEqual([
      '127.0.0.1 7 service000 service',
      '127.0.0.1 8 service000 pooler',
      '127.0.0.1 9 set0000000 service',
      '127.0.0.1 10 set0000000 pooler',
      '10.64.0.2 5432 service000 service',
      '10.64.0.3 5432 service000 pooler',
      '10.64.0.4 5432 set0000000 service',
      '10.64.0.5 5432 set0000000 pooler',
    ])
  })
})

test('where no address is left the request is told what to do, and nothing is taken', async () => {
  for (let port = 1000; port < 1020; port += 1) await take(newId())
  await expect(take(newId())).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: 'no port is free; delete services',
  })
  expect(await listPorts()).toHaveLength(20)
})

test('a transaction that has to give way each time is one that a caller may repeat', async () => {
  let runs = 0
  const work = db.transaction(async (tx) => {
    runs += 1
    await tx.query(`do $$ begin raise sqlstate '40P01'; end $$`)
  })
  const failure = await work.catch((error: unknown) => error)
  expect(runs).toBe(10)
  expect(storeIsUnreachable(failure)).toBe(true)
})

test('a transaction that has to give way in a deadlock is run anew', async () => {
  const [one, other] = [await insertService(), await insertService()]
  const both = Promise.withResolvers<void>()
  let runs = 0
  let inside = 0
  const rename = (first: string, second: string) =>
    db.transaction(async (tx) => {
      runs += 1
      await tx.query(`update services set name = name || '+' where service_id = $1`, [first])
      if (++inside === 2) both.resolve()
      await both.promise
      await tx.query(`update services set name = name || '+' where service_id = $1`, [second])
    })
  await Promise.all([rename(one, other), rename(other, one)])
  // More, where the claim that gave way is back before the other goes on.
  expect(runs).toBeGreaterThanOrEqual(3)
  const rows = await db.query<{ name: string }>(`select name from services`)
  expect(rows.map(({ name }) => name)).toEqual(['s++', 's++'])
})
