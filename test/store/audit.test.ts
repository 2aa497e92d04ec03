// The audit log only grows: a page of a project's reads no entries of others, however many there are.
import { shared } from '#test/shared.ts'
import { beforeAll, expect, test } from 'vitest'
import { listAudit } from '#server/audit/store.ts'
import type { Sql } from '#server/store/db.ts'
import { openTestDb } from './test-store.ts'

const db = shared(openTestDb)

beforeAll(async () => {
  // Ten projects of 200 members each; those of the first have done next to nothing.
  await db.query(
    `insert into projects (id, name) select 'p' || lpad(n::text, 9, '0'), '' from generate_series(1, 10) n`,
  )
  await db.query(`insert into users (email, name) select n || '@example.com', '' from generate_series(1, 2000) n`)
  await db.query(`
    insert into members (project_id, user_id, role, used_at)
    select 'p' || lpad((row_number() over (order by id) % 10 + 1)::text, 9, '0'), id, 'owner', '-infinity' from users`)
  await db.query(`
    insert into audit (project_id, user_id, email, address, endpoint, method, path, status, request_id)
    select case n % 2 when 0 then project_id end, user_id, '', '', case n % 2 when 0 then 'startService' else 'login' end, 'POST', '', 200, ''
    from generate_series(1, 100) n, members where project_id <> 'p000000001' or n = 1 and user_id % 100 = 9`)
  await db.query('analyze')
})

const any = {
  before: null,
  user_id: null,
  is_operator: false,
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
    expect(await listAudit(tx, 'p000000001', any, 100)).toHaveLength(20)
    expect(await entriesRead(tx)).toBeLessThan(1_000)
  })
})

test.each([null, 1_000])('the newest come first, before %s', async (before) => {
  const ids = (await listAudit(db, 'p000000002', { ...any, before }, 20)).map(({ id }) => id)
  expect(ids).toHaveLength(20)
  expect(ids).toEqual(ids.toSorted((a, b) => b - a))
  expect(ids[0]).toBeLessThan(before ?? Infinity)
})
