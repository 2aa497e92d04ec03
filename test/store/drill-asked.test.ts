// A restore drill that is asked for begins at once: the request tells every server, and a server that is told waits for no round. A region
// that makes none refuses it.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startDrills } from '#server/backup/drills.ts'
import { newId } from '#server/id.ts'
import { newLog } from '#server/log.ts'
import { drill_requested, newSettled, type Settled } from '#server/settled.ts'
import type { Db } from '#server/store/db.ts'
import { openStoreOf } from '#test/database.ts'
import { startInstallation, type TestInstallation } from '#test/installation.ts'
import { until } from '#test/until.ts'

let howdah: TestInstallation
let db: Db

beforeAll(async () => {
  const regions = (['local', 'memory'] as const).map((provider) => ({ region_code: provider, provider }))
  howdah = await startInstallation({ config: { regions } })
  db = openStoreOf(howdah)
})

afterAll(async () => {
  await db?.close()
  await howdah?.stop()
})

/** Calls back at what is said from now on, and no more because it has just connected. */
async function listening(): Promise<Settled> {
  const settled = newSettled(db)
  let is_connected = false
  const unwatch = settled.watch(drill_requested, () => void (is_connected = true))
  await until(() => is_connected)
  unwatch()
  return settled
}

const ask = async (service_id: string) => await howdah.call('POST', `${howdah.services}/${service_id}/drill`)

test('every server is told of a drill that is asked for', async () => {
  const { service_id } = await howdah.createService({ region_code: 'local' })
  let told = 0
  const settled = await listening()
  onTestFinished(settled.watch(drill_requested, () => void (told += 1)))
  expect((await ask(service_id)).status).toBe(202)
  await until(() => told === 1, { what: 'it is told' })
})

/** Of a region that the server of this installation does not have; it was drilled before. */
async function newKept(): Promise<string> {
  const { service_id } = await howdah.createService({ region_code: 'local' })
  const restorable = `${howdah.services}/${service_id}/restorable`
  const isKept = async () => 'restorable_from' in (await howdah.call('GET', restorable)).body
  await until(isKept, { what: 'it has a snapshot' })
  await db.query(`update services set region_code = 'there', drilled_at = now() where service_id = $1`, [service_id])
  return service_id
}

/** A server that drills the services of that region. */
async function drilling(every_ms: number): Promise<Settled> {
  const regions = new Map([['there', howdah.server.regions.get('local') ?? expect.fail()]])
  const settled = await listening()
  const parts = { db, regions, log: newLog('silent'), settled, folder: join(tmpdir(), newId()) }
  const drills = startDrills(parts, every_ms)
  onTestFinished(() => drills.close())
  return settled
}

const request = async (service_id: string) => {
  await db.query(`update services set drill_requested_at = now() where service_id = $1`, [service_id])
  await db.query(`select pg_notify('settled', $1)`, [drill_requested])
}

async function resultOf(service_id: string) {
  const [row] = await db.query<{ proven: boolean; error: string | null }>(
    `select proven_restorable_at is not null as proven, drill_error as error from services
     where service_id = $1 and drilled_at > drill_requested_at`,
    [service_id],
  )
  return row
}

test('a server that is told of a drill makes it without waiting for the next round', async () => {
  const service_id = await newKept()
  await drilling(3_600_000)
  await request(service_id)
  expect(await until(() => resultOf(service_id))).toEqual({ proven: true, error: null })
})

test('a drill that is asked for while the first snapshot is being taken waits for it', async () => {
  const [early, other] = [await newKept(), await newKept()]
  await db.query(`update snapshots set taken_at = null where service_id = $1`, [early])
  await request(early)
  await request(other)
  await drilling(100)
  // The first that was asked for would be the first that is made.
  await until(() => resultOf(other))
  expect(await resultOf(early)).toBeUndefined()
  await db.query(`update snapshots set taken_at = now() where service_id = $1`, [early])
  expect(await until(() => resultOf(early))).toEqual({ proven: true, error: null })
})

test('what a drill found is told without control characters, whatever the name of a file', async () => {
  const service_id = await newKept()
  const home = join(howdah.config.data_dir, 'local', 'services', service_id)
  const [snapshot_id = ''] = readdirSync(join(home, 'snapshots'))
  const planted = 'data/planted\u001b[2J'
  writeFileSync(join(home, 'snapshots', snapshot_id, planted), 'damaged')
  mkdirSync(join(home, 'backup'), { recursive: true })
  writeFileSync(join(home, 'backup', `${snapshot_id}.crc`), JSON.stringify({ [planted]: '1 7' }))
  await drilling(3_600_000)
  await request(service_id)
  const { error } = await until(() => resultOf(service_id))
  expect(error).toBe(`data/planted\ufffd[2J of the snapshot ${snapshot_id} differs from its checksum`)
})

test('a region that makes no drills refuses one', async () => {
  const { service_id } = await howdah.createService({ region_code: 'memory' })
  const { status, body } = await ask(service_id)
  expect({ status, body }).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
  expect(JSON.stringify(body)).toContain('this region has no data whose restore could be tried out')
  const { body: read } = await howdah.call('GET', `${howdah.services}/${service_id}`)
  expect(read).not.toHaveProperty('protection.last_proven_restorable_at')
})
