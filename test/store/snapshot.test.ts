// Snapshots as they are read from the store: which ones forks that are being made still need.
import { beforeAll, expect, test } from 'vitest'
import { newId } from '#server/id.ts'
import { listSnapshots } from '#server/snapshot/store.ts'
import { shared } from '#test/shared.ts'
import { openTestDb } from './test-store.ts'

const db = shared(openTestDb)

beforeAll(async () => {
  await db.query(`insert into projects (id, name) values ('project000', 'a project')`)
})

const noon = Date.parse('2026-03-01T12:00:00Z')
const hour = (hours: number) => new Date(noon + hours * 3_600_000)

type Fork = { strategy: string; source_snapshot_id?: string; at?: Date; created?: Date; made?: boolean }

async function insertService(source_service_id: string | null, { strategy, ...fork }: Partial<Fork> = {}) {
  const service_id = newId()
  await db.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment, password_verifier,
       source_service_id, source_strategy, source_snapshot_id, source_time, created, settled_generation)
     values ($1, 'project000', 'a service', 'local', 'POSTGRES', 'DEV', '', $2, $3, $4, $5, $6, $7)`,
    [
      service_id,
      source_service_id,
      strategy,
      fork.source_snapshot_id,
      fork.at,
      fork.created ?? hour(0),
      fork.made ? 1 : 0,
    ],
  )
  return service_id
}

/** Taken an hour after each other, the first at noon. */
async function insertSnapshots(service_id: string, kinds: readonly string[]): Promise<string[]> {
  const ids = kinds.map(() => newId())
  for (const [at, kind] of kinds.entries()) {
    await db.query(
      `insert into snapshots (snapshot_id, service_id, kind, requested_at, taken_at) values ($1, $2, $3, $4, $5)`,
      [ids[at], service_id, kind, hour(at), kind === 'now' ? null : hour(at)],
    )
  }
  return ids
}

test('a snapshot is in use by a fork of it, and by one to a time after it, until that is made', async () => {
  const parent = await insertService(null)
  const [first = '', second = '', third = ''] = await insertSnapshots(parent, ['initial', 'scheduled', 'manual'])
  const inUse = async () =>
    (await listSnapshots(db, parent)).filter(({ in_use }) => in_use).map(({ snapshot_id }) => snapshot_id)
  expect(await inUse()).toEqual([])
  await insertService(parent, { strategy: 'LAST_SNAPSHOT', source_snapshot_id: third, made: true })
  await insertService(parent, { strategy: 'NOW', at: hour(3) })
  expect(await inUse()).toEqual([])
  await insertService(parent, { strategy: 'PITR', at: hour(1) })
  expect(await inUse()).toEqual([second, first])
  await insertService(parent, { strategy: 'LAST_SNAPSHOT', source_snapshot_id: third })
  expect(await inUse()).toEqual([third, second, first])
})

test('what a fork NOW leaves waits for that fork and for earlier ones, not for later ones', async () => {
  const parent = await insertService(null)
  const [kept = '', left = ''] = await insertSnapshots(parent, ['initial', 'now'])
  const awaiting = async () =>
    (await listSnapshots(db, parent)).filter(({ awaits_fork }) => awaits_fork).map(({ snapshot_id }) => snapshot_id)
  await insertService(parent, { strategy: 'NOW', created: hour(2) })
  await insertService(parent, { strategy: 'NOW', created: hour(1), made: true })
  await insertService(parent, { strategy: 'LAST_SNAPSHOT', source_snapshot_id: kept })
  expect(await awaiting()).toEqual([])
  await insertService(parent, { strategy: 'NOW', created: hour(1) })
  expect(await awaiting()).toEqual([left])
})
