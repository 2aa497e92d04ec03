// What a killed drill has fetched is removed by the next server, also when the service was deleted since; what another server fetches stays.
import { shared } from '#test/shared.ts'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDrills } from '#server/backup/drills.ts'
import { newId } from '#server/id.ts'
import { newLog } from '#server/log.ts'
import { newSettled } from '#server/settled.ts'
import { until } from '#test/until.ts'
import { openTestDb } from './test-store.ts'

const db = shared(openTestDb)
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'howdah-drill-'))
})

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

test('a fetched service is removed where no drill of it is under way', async () => {
  const [drilled, deleted] = [newId(), newId()]
  await db.query(`insert into projects (id, name) values ('project000', 'a project')`)
  await db.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment, password_verifier, drill_lease_until)
     values ($1, 'project000', 'shop', 'here', 'POSTGRES', 'DEV', '', now() + interval '1 hour')`,
    [drilled],
  )
  for (const service_id of [drilled, deleted]) {
    mkdirSync(join(folder, service_id))
    writeFileSync(join(folder, service_id, 'PG_VERSION'), '18')
  }
  const isThere = (service_id: string) => existsSync(join(folder, service_id))
  const drills = startDrills({ db, regions: new Map(), log: newLog('silent'), settled: newSettled(db), folder })
  await until(() => !isThere(deleted), { what: 'what is left of a deleted service is removed' })
  expect(isThere(drilled)).toBe(true)
  await db.query(`update services set drill_lease_until = now()`)
  await until(() => !isThere(drilled), { what: 'it is removed when its drill has lost the lease' })
  await drills.close()
})
