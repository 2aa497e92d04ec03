// A fork of a parent that is being written to: all that was committed before the request and nothing in halves.
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ReadyService, startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { familyOf } from './family.ts'

const accounts = 200
const writers = 3

const installation = shared(startInstallation)
const family = familyOf(installation)
let parent: ReadyService
const stop = new AbortController()
const work: Promise<void>[] = []
/** Ids of transfers whose commit was answered. */
const committed = new Set<string>()

beforeAll(async () => {
  parent = await installation.createService({ name: 'busy', cpu_millis: 'shared' })
  await family.rows(parent, 'create table accounts (id int primary key, balance bigint not null)')
  await family.rows(parent, `insert into accounts select n, 1000 from generate_series(1, ${accounts}) as n`)
  await family.rows(
    parent,
    'create table transfers (id uuid primary key default gen_random_uuid(), payer int, payee int, amount int, filler text)',
  )
  await family.untilSnapshot(parent)
  for (let number = 0; number < writers; number++) work.push(write())
  await until(() => committed.size > 50)
})
afterAll(async () => {
  stop.abort()
  await Promise.allSettled(work)
})

async function write(): Promise<void> {
  const client = await family.session(parent)
  while (!stop.signal.aborted) {
    const [payer, payee] = [1 + Math.floor(Math.random() * accounts), 1 + Math.floor(Math.random() * accounts)]
    const { rows } = await client.query<{ id: string }>(
      `with paid as (update accounts set balance = balance - case when id = $1 then 7 else 0 end
           + case when id = $2 then 7 else 0 end where id in ($1, $2))
       insert into transfers (payer, payee, amount, filler) values ($1, $2, 7, repeat(md5(random()::text), 20)) returning id`,
      [payer, payee],
    )
    committed.add(rows[0]?.id ?? '')
  }
  await client.end()
}

test.each(['NOW', 'NOW', 'PITR'] as const)('a fork under writes (%s) is consistent', async (fork_strategy) => {
  const before = [...committed]
  const target = fork_strategy === 'PITR' ? { target_time: new Date().toISOString() } : {}
  const child = await family.fork(parent, { fork_strategy, ...target })

  const total = await family.rows(child, 'select sum(balance) from accounts')
  expect(total).toEqual([String(accounts * 1000)])
  const wrong = await family.rows(
    child,
    `select id from accounts a where balance <> 1000
       - coalesce((select sum(amount) from transfers where payer = a.id and payer <> payee), 0)
       + coalesce((select sum(amount) from transfers where payee = a.id and payer <> payee), 0)`,
  )
  expect(wrong).toEqual([])
  const there = new Set(await family.rows(child, 'select id from transfers'))
  // A commit of the very millisecond of the target may lie after it; all earlier ones are before it.
  const late = fork_strategy === 'PITR' ? writers : 0
  expect(before.filter((id) => !there.has(id)).length).toBeLessThanOrEqual(late)
  expect(await problemsOf(child)).toEqual([])
})

/** Every table of the database, and every index against its table, by PostgreSQL's own checker. */
async function problemsOf(service: ReadyService): Promise<string[]> {
  const client = new pg.Client({
    host: join(installation.config.data_dir, 'local', 'run', service.service_id),
    port: service.endpoint.port,
    user: 'postgres',
    database: 'tsdb',
  })
  await client.connect()
  try {
    // Not the control file that keeps tenants from it.
    await client.query(`set extension_control_path = '$system'`)
    await client.query('create extension amcheck')
    const { rows } = await client.query<{ name: string }>(
      `select c.oid::regclass::text as name from pg_class c join pg_am a on a.oid = c.relam
       where a.amname = 'btree' and c.relkind = 'i' and c.relpersistence = 'p'`,
    )
    const problems: string[] = []
    for (const { name } of rows) {
      await client.query('select bt_index_check($1::regclass, true)', [name]).catch((error: Error) => {
        problems.push(`${name}: ${error.message}`)
      })
    }
    expect(rows.length).toBeGreaterThan(50)
    const heaps = await client.query<{ name: string; at: string | null; msg: string | null }>(
      `select c.oid::regclass::text as name, found.blkno::text as at, found.msg
       from pg_class c left join lateral verify_heapam(c.oid, check_toast => true) as found on true
       where c.relkind in ('r', 't', 'm') and c.relpersistence = 'p'`,
    )
    expect(heaps.rows.length).toBeGreaterThan(50)
    for (const { name, at, msg } of heaps.rows) if (msg !== null) problems.push(`${name}, block ${at}: ${msg}`)
    return problems
  } finally {
    await client.end()
  }
}
