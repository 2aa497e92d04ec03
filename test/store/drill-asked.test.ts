// A restore drill that is asked for begins at once: the request tells every server, and a server that is told waits for no round.
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openMemoryProvider } from '#providers/memory/memory.ts'
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
  howdah = await startInstallation({ config: { regions: [{ region_code: 'here', provider: 'memory' }] } })
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

test('every server is told of a drill that is asked for', async () => {
  const { service_id } = await howdah.createService()
  let told = 0
  const settled = await listening()
  onTestFinished(settled.watch(drill_requested, () => void (told += 1)))
  expect((await howdah.call('POST', `${howdah.services}/${service_id}/drill`)).status).toBe(202)
  await until(() => told === 1, { what: 'it is told' })
})

test('a server that is told of a drill makes it without waiting for the next round', async () => {
  const ports = { first: 1_000, last: 2_000 }
  // Of a region that the server of this installation does not have.
  const [service_id, region_code] = [newId(), 'there']
  const regions = new Map([[region_code, openMemoryProvider({ identity: region_code, host: 'there', ports })]])
  await db.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment, password_verifier, settled_generation)
     values ($1, $2, 'shop', $3, 'POSTGRES', 'DEV', '', 1)`,
    [service_id, howdah.project_id, region_code],
  )
  const an_hour_ms = 3_600_000
  const parts = { db, regions, log: newLog('silent'), settled: await listening(), folder: join(tmpdir(), newId()) }
  const drills = startDrills(parts, an_hour_ms)
  onTestFinished(() => drills.close())
  await db.query(`update services set drill_requested_at = now() where service_id = $1`, [service_id])
  await db.query(`select pg_notify('settled', $1)`, [drill_requested])
  await until(async () => {
    const [row] = await db.query<{ drilled_at: Date | null }>(`select drilled_at from services where service_id = $1`, [
      service_id,
    ])
    return row?.drilled_at
  })
})
