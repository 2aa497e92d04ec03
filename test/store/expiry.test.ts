// Services end by the clock of the store, which all servers share: not by that of a server whose clock is ahead of the others.
import { shared } from '#test/shared.ts'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { newId } from '#server/id.ts'
import { newLog } from '#server/log.ts'
import { startExpiry } from '#server/service/expiry.ts'
import { openTestDb } from './test-store.ts'

const db = shared(openTestDb)
const project_id = newId()

beforeAll(async () => {
  await db.query(`insert into projects (id, name) values ($1, 'a project')`, [project_id])
})
afterEach(() => {
  vi.useRealTimers()
})

/** Times as the store understands them. */
async function insertService(name: string, ends: { expires_at?: string; kept_until?: string }): Promise<void> {
  await db.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment, password_verifier,
       expires_at, deleted_at, kept_until)
     values ($1, $2, $3, 'here', 'POSTGRES', 'DEV', '', now() + $4::interval,
       case when $5::interval is not null then now() end, now() + $5::interval)`,
    [newId(), project_id, name, ends.expires_at, ends.kept_until],
  )
}

const list = () =>
  db.query<{ name: string; told: boolean; deleted: boolean; kept: boolean }>(
    `select name, expiry_told_at is not null as told, deleted_at is not null as deleted, kept_until is not null as kept
     from services order by name`,
  )

test.each([
  ['ahead of', 10],
  ['behind', -10],
])('a server whose clock is %s the store’s ends and warns of what is due by the store’s', async (_, days) => {
  await db.query('delete from services')
  await insertService('due', { expires_at: '-1 minute' })
  await insertService('kept', { kept_until: '1 day' })
  await insertService('kept long enough', { kept_until: '-1 minute' })
  await insertService('later', { expires_at: '1 day' })
  await insertService('soon', { expires_at: '30 minutes' })
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + days * 86_400_000 })
  const expiry = await startExpiry({ db, log: newLog('silent') })
  await expiry.stop()
  expect(await list()).toEqual([
    { name: 'due', told: false, deleted: true, kept: false },
    { name: 'kept', told: false, deleted: true, kept: true },
    { name: 'kept long enough', told: false, deleted: true, kept: false },
    { name: 'later', told: false, deleted: false, kept: false },
    { name: 'soon', told: true, deleted: false, kept: false },
  ])
})
