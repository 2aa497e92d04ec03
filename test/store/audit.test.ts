// The audit log only grows: a page of a project's reads no entries of others, however many there are.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listAudit } from '#server/audit/store.ts'
import type { Db, Sql } from '#server/store/db.ts'
import { openTestDb } from './test-store.ts'

let opened: Awaited<ReturnType<typeof openTestDb>>
let db: Db

beforeAll(async () => {
  opened = await openTestDb()
  db = opened.db
  // Each user has a project of their own, in which the first one has done next to nothing.
  await db.query(`
    with own as (
      insert into projects (id, name) select 'p' || lpad(n::text, 9, '0'), '' from generate_series(1, 50) n returning id),
    person as (insert into users (email, name) select id || '@example.com', '' from own returning id, email)
    insert into members (project_id, user_id, role, used_at)
    select split_part(email, '@', 1), id, 'owner', '-infinity' from person`)
  await db.query(`
    insert into audit (project_id, user_id, email, address, endpoint, method, path, status, request_id)
    select case n % 2 when 0 then project_id end, user_id, '', '', case n % 2 when 0 then 'startService' else 'login' end, 'POST', '', 200, ''
    from generate_series(1, 400) n, members where n < 5 or project_id <> 'p000000001'`)
  await db.query('analyze')
})

afterAll(() => opened?.close())

const any = {
  before: null,
  user_id: null,
  endpoint: null,
  resource_id: null,
  is_done: null,
  since: null,
  until: null,
} as const

async function entriesRead(tx: Sql): Promise<number> {
  const [row] = await tx.query<{ read: number }>(`
    select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) as read
    from pg_stat_xact_user_tables where relname = 'audit'`)
  return row?.read ?? 0
}

test('a project with few entries reads no others', async () => {
  await db.transaction(async (tx) => {
    expect(await listAudit(tx, 'p000000001', any, 20)).toHaveLength(4)
    expect(await entriesRead(tx)).toBeLessThan(100)
  })
})

test.each([null, 1_000])('the newest come first, before %s', async (before) => {
  const ids = (await listAudit(db, 'p000000002', { ...any, before }, 20)).map(({ id }) => id)
  expect(ids).toHaveLength(20)
  expect(ids).toEqual(ids.toSorted((a, b) => b - a))
  expect(ids[0]).toBeLessThan(before ?? Infinity)
})
