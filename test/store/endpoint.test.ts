// Ports of a region: services, poolers and replica sets take them from one table, and the store itself refuses a second
// holder, whoever writes the rows.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { NoEndpoint, type Provider } from '#providers/provider.ts'
import { type Db, openDb } from '#server/store/db.ts'
import { takeEndpoint } from '#server/endpoint.ts'
import { newId } from '#server/id.ts'
import { migrate } from '#server/store/migrate.ts'
import { startTestStore, type TestStore, withDb } from './test-store.ts'

let store: TestStore
let db: Db

beforeAll(async () => {
  store = await startTestStore()
  db = openDb(await store.newDatabase())
  await migrate(db)
  await db.query(`insert into projects (id, name) values ('project000', 'p')`)
})

beforeEach(async () => {
  await db.query('delete from replica_sets')
  await db.query('delete from services')
})

afterAll(async () => {
  await db?.close()
  await store?.stop()
})

async function insertService(port: number, service_id = newId()): Promise<string> {
  await db.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment, host, port,
       password_verifier)
     values ($1, 'project000', 's', 'local', 'POSTGRES', 'DEV', '127.0.0.1', $2, '')`,
    [service_id, port],
  )
  return service_id
}

async function insertSet(service_id: string, port: number, replica_set_id = newId()): Promise<string> {
  await db.query(
    `insert into replica_sets (replica_set_id, service_id, region_code, name, environment, host, port, nodes,
       cpu_millis, memory_gbs)
     values ($1, $2, 'local', 'set', 'DEV', '127.0.0.1', $3, 1, 500, 2)`,
    [replica_set_id, service_id, port],
  )
  return replica_set_id
}

const givePooler = (table: string, id: string, port: number) =>
  db.query(`update ${table} set pooler = true, pooler_port = $2 where ${table.slice(0, -1)}_id = $1`, [id, port])

const listPorts = async () =>
  (await db.query<{ port: number }>('select port from endpoints order by port')).map(({ port }) => port)

/** The lowest port that is not taken, as far as the asker knows: two who ask at once get the same one. */
const provider = {
  region_code: 'local',
  newEndpoint: async (taken: ReadonlySet<number>) => {
    let port = 1000
    while (taken.has(port)) port += 1
    return { host: '127.0.0.1', port }
  },
} as unknown as Provider // the part of a provider that is asked

test('who takes an endpoint at the same time as others gets one of its own', async () => {
  const takes = Array.from({ length: 12 }, () =>
    db.transaction((tx) => takeEndpoint(tx, { provider, holder_id: newId() })),
  )
  const ports = (await Promise.all(takes)).map(({ port }) => port)
  expect(new Set(ports).size).toBe(12)
  await db.query('delete from endpoints')
})

test('no row can name a port that another holds, be it a service, a set or the pooler of either', async () => {
  const one = await insertService(1)
  const other = await insertService(2)
  const set = await insertSet(one, 3)
  await givePooler('services', one, 4)
  await givePooler('replica_sets', set, 5)
  expect(await listPorts()).toEqual([1, 2, 3, 4, 5])
  for (const taken of [1, 2, 3, 4, 5]) {
    await expect(insertService(taken)).rejects.toMatchObject({ code: '23505' })
    await expect(insertSet(other, taken)).rejects.toMatchObject({ code: '23505' })
  }
  for (const taken of [1, 3, 4, 5]) {
    await expect(givePooler('services', other, taken)).rejects.toMatchObject({ code: '23505' })
  }
  await expect(givePooler('services', other, 2)).rejects.toThrow('pooler_has_a_port_of_its_own')
  expect(await listPorts()).toEqual([1, 2, 3, 4, 5])
})

test('a pooler that goes keeps its port, and what is gone holds none', async () => {
  const service = await insertService(1)
  const set = await insertSet(service, 2)
  await givePooler('services', service, 3)
  await db.query('update services set pooler = false')
  expect(await listPorts()).toEqual([1, 2, 3])
  await expect(db.query('delete from services')).rejects.toThrow('foreign key')
  await db.query('delete from replica_sets where replica_set_id = $1', [set])
  expect(await listPorts()).toEqual([1, 3])
  await db.query('delete from services')
  expect(await listPorts()).toEqual([])
})

test('a replica set has no id that a service has, nor the other way round', async () => {
  const service = await insertService(1)
  const set = await insertSet(service, 2)
  await expect(insertSet(service, 3, service)).rejects.toThrow('is taken')
  await expect(insertService(3, set)).rejects.toThrow('is taken')
})

test('a service that was there before there was the table holds its port', async () => {
  const folder = join(import.meta.dirname, '..', '..', 'server', 'store', 'migrations')
  const earlier = readdirSync(folder).filter((name) => name < '0007')
  const migrations = earlier.sort().map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
  await withDb(await store.newDatabase(), async (old) => {
    await migrate(old, migrations)
    await old.query(`insert into projects (id, name) values ('project000', 'p')`)
    await old.query(
      `insert into services (service_id, project_id, name, region_code, service_type, environment, host, port,
         password_verifier)
       values ('service000', 'project000', 's', 'local', 'POSTGRES', 'DEV', '127.0.0.1', 7, '')`,
    )
    await migrate(old)
    const held = { region_code: 'local', host: '127.0.0.1', port: 7, holder_id: 'service000' }
    expect(await old.query('select * from endpoints')).toEqual([held])
  })
})

test('where no port is left the request is told what to do, and nothing is taken', async () => {
  const sentence = 'no port is free; delete services'
  const provider = { region_code: 'local', newEndpoint: () => Promise.reject(new NoEndpoint(sentence)) }
  const taking = db.transaction((tx) => takeEndpoint(tx, { provider, holder_id: newId() }))
  await expect(taking).rejects.toMatchObject({ code: 'UNAVAILABLE', message: sentence })
})

test('a transaction that has to give way in a deadlock is run anew', async () => {
  const [one, other] = [await insertService(30_001), await insertService(30_002)]
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
  // More, where the one that gave way is back before the other one goes on.
  expect(runs).toBeGreaterThanOrEqual(3)
  const rows = await db.query<{ name: string }>(`select name from services order by port`)
  expect(rows.map(({ name }) => name)).toEqual(['s++', 's++'])
})
