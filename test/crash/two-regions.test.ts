// Two regions on one metadata store, each with a server and a data directory of its own: neither takes the other's work, which it
// cannot do.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Vpc } from '#contract/vpc.ts'
import { type Db, openDb } from '#server/store/db.ts'
import type { Call } from '#test/call.ts'
import { removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { storeUrlOf } from '#test/database.ts'
import { newSeededDataDir } from '#test/seed.ts'
import { type ServerProcess, startServerProcess } from '#test/server-process.ts'
import { until } from '#test/until.ts'

let homes: { data_dir: string; service_ports: { first: number; last: number } }[]
let db: Db | undefined

beforeEach(async () => {
  homes = [await newSeededDataDir(), await newSeededDataDir()].map((data_dir) => ({
    data_dir,
    service_ports: newServicePorts(),
  }))
})
afterEach(async () => {
  await db?.close()
  // The store is in the first one.
  for (const { data_dir } of homes.toReversed()) await removeDataDir(data_dir)
})

test('work of a region whose server is away waits for it, and the other region’s server writes nothing about it', async () => {
  const [here, there] = homes
  if (here === undefined || there === undefined) throw new Error('there are two')
  const first = await startServerProcess({ ...here, flags: ['--region', 'here'] })
  const database_url = storeUrlOf(here.data_dir)
  const startSecond = () => startServerProcess({ ...there, database_url, flags: ['--region', 'there'] })
  const second = await startSecond()
  const token = first.first_token ?? ''
  const callFirst = first.callWith(token)
  const at = await create(second.callWith(token), first, 'there')
  const { body: vpc } = await callFirst<Vpc>('POST', `/projects/${first.project_id}/vpcs`, {
    cidr: '10.77.0.0/24',
    name: 'x',
    region_code: 'here',
  })
  await second.end('SIGKILL')

  expect((await callFirst('POST', `${at}/stop`)).status).toBe(202)
  // The other server has been through its work since then, and starts over with all there is.
  const own = await create(callFirst, first, 'here')
  await first.end('SIGTERM')
  const again = await startServerProcess({ ...here, flags: ['--region', 'here'] })
  const call = again.callWith(token)
  await create(call, again, 'here')
  db = openDb(database_url)
  const told = await db.query<{ message: string }>(
    `select message from service_events where kind = 'setback' and service_id = $1`,
    [at.split('/').at(-1)],
  )
  expect(told).toEqual([])
  expect((await call('GET', at)).body.status).toBe('PAUSING')
  expect((await call('GET', own)).body.status).toBe('READY')
  const [work] = await db.query(`select error from work where kind = 'vpc' and key = $1`, [vpc.id])
  expect(work).toEqual({ error: null })

  const back = await startSecond()
  await until(async () => (await call('GET', at)).body.status === 'PAUSED', { what: 'its own server stops it' })
  await back.end('SIGTERM')
  await again.end('SIGTERM')
})

/** The path of a new service, once it is READY. */
async function create(call: Call, { project_id }: ServerProcess, region_code: string): Promise<string> {
  const services = `/projects/${project_id}/services`
  const { status, body } = await call('POST', services, { name: 'x', cpu_millis: 'shared', region_code })
  expect(status).toBe(202)
  await until(async () => (await call('GET', `${services}/${body.service_id}`)).body.status === 'READY')
  return `${services}/${body.service_id}`
}
