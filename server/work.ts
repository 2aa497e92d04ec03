// The queue between intent and effect. It carries keys, never instructions: what to do is in the subject's own row.
//
// 1. nudge runs in the transaction that changes the intent, so there is no intent without work and no work without intent.
// 2. A claim is a lease with a token. settle writes only while the token is still on the row: a server that was
//    paused beyond its lease can no longer write.
// 3. A nudge that comes during a pass is never swallowed: settle sees the counter and makes the row due at once.
// 4. A row stays as long as its subject exists; due_at is when the next pass begins.
// 5. Servers claim the work of their own regions only: no other server can do it.
import type { Db, Sql } from './store/db.ts'
import { fragment, sql } from './store/sql.ts'

export const lease_seconds = 10
const backoff_seconds_max = 300

/** What a server can do. */
export type Scope = { kinds: readonly string[]; regions: readonly string[] }

export type Claim = { kind: string; key: string; lease_token: string; nudges: number; attempts: number }

/** When the next pass is due: in so many seconds, after a growing pause because this one failed, or never (the subject is removed). */
export type Again = { in_seconds: number } | 'backoff' | 'never'

/** `in_seconds`: for work that no caller waits for; a pass that is due before then is not put off. */
export async function nudge(tx: Sql, kind: string, key: string, in_seconds = 0): Promise<void> {
  await nudgeAll(tx, kind, [key], in_seconds)
}

/**
 * In the order of their keys, so that two transactions that nudge the same keys do not deadlock. `region_code`: where the work is, when
 * there is no row that says so.
 */
export async function nudgeAll(tx: Sql, kind: string, keys: readonly string[], in_seconds = 0, region_code = '') {
  if (keys.length === 0) return
  await tx.query(
    sql`
      with nudged as (
        insert into work (kind, key, due_at, region_code)
        select ${kind}, key, now() + make_interval(secs => ${in_seconds}),
          coalesce(nullif(region_of(${kind}, key), ''), ${region_code})
        from unnest(${keys}::text[]) as key order by key
        on conflict (kind, key) do update
        set nudges = work.nudges + 1, due_at = least(work.due_at, excluded.due_at), attempts = 0 returning kind)
      select pg_notify('work', kind) from nudged limit 1`,
    'nudge',
  )
}

/** These may be down: their passes come before all that are merely due. */
export async function alarm(db: Sql, kind: string, keys: readonly string[]): Promise<void> {
  await db.query(sql`
    with alarmed as (
      update work set nudges = nudges + 1, due_at = now(), attempts = 0, urgent = true
      where kind = ${kind} and key = any (${keys}) returning kind)
    select pg_notify('work', kind) from alarmed`)
}

/** Whether the pass that an alarm calls for is still to come or under way, whichever server makes it. */
export async function isUrgent(db: Sql, kind: string, key: string): Promise<boolean> {
  const rows = await db.query(sql`select from work where kind = ${kind} and key = ${key} and urgent`)
  return rows.length > 0
}

const is_free = fragment`due_at <= now() and (lease_until is null or lease_until <= now())`

export async function claim(db: Sql, scope: Scope, owner: string, limit: number, urgent_limit = limit) {
  return db.query(
    sql<Claim>`
      with urgent as (
        select kind, key from work
        where urgent and kind = any (${scope.kinds}) and region_code = any (${regionsOf(scope)}) and ${is_free}
        order by due_at limit ${urgent_limit} for update skip locked),
      due as (
        select kind, key from work
        where not urgent and kind = any (${scope.kinds}) and region_code = any (${regionsOf(scope)}) and ${is_free}
        order by due_at limit ${limit} for update skip locked)
      update work set lease_token = gen_random_uuid(), lease_owner = ${owner},
        lease_until = now() + make_interval(secs => ${lease_seconds})
      where (kind, key) in (select * from urgent union all select * from due)
      returning kind, key, lease_token, nudges, attempts`,
    'claim',
  )
}

/** Work of no region is for the first server that claims it. */
const regionsOf = ({ regions }: Scope) => [...regions, '']

/** False when the lease was lost: another server may have it by now. */
export async function renew(db: Sql, { kind, key, lease_token }: Claim): Promise<boolean> {
  const rows = await db.query(sql`
    update work set lease_until = now() + make_interval(secs => ${lease_seconds})
    where kind = ${kind} and key = ${key} and lease_token = ${lease_token} returning key`)
  return rows.length === 1
}

/**
 * Ends a claim: `save` writes what the pass observed, in the same transaction. False (and nothing written) when the lease
 * was lost meanwhile.
 */
export async function settle(
  db: Db,
  claim: Claim,
  outcome: { again: Again; error?: string | undefined; random: number },
  save: (tx: Sql) => Promise<void>,
): Promise<boolean> {
  const { kind, key, lease_token } = claim
  const end = async (tx: Sql) => {
    // The subject before the queue: in this order requests take them, and in the other one the two would deadlock.
    await save(tx)
    const [row] = await tx.query(
      sql<{ nudges: number }>`
        select nudges from work where kind = ${kind} and key = ${key} and lease_token = ${lease_token} for update`,
      'lock claim',
    )
    if (row === undefined) throw new LeaseLost()
    if (outcome.again === 'never') {
      await tx.query(sql`delete from work where kind = ${kind} and key = ${key}`)
      return true
    }
    const nudged = row.nudges !== claim.nudges
    const attempts = outcome.again === 'backoff' && !nudged ? claim.attempts + 1 : 0
    const pause_seconds = nudged ? 0 : pauseSeconds(outcome.again, attempts, outcome.random)
    await tx.query(
      sql`
        update work set lease_token = null, lease_owner = null, lease_until = null,
          due_at = now() + make_interval(secs => ${pause_seconds}), attempts = ${attempts}, error = ${outcome.error},
          urgent = urgent and ${nudged}
        where kind = ${kind} and key = ${key}`,
      'end claim',
    )
    return true
  }
  return db.transaction(end).catch((error: unknown) => {
    if (error instanceof LeaseLost) return false
    throw error
  })
}

/** Rolls back what a pass has saved after its lease. */
class LeaseLost extends Error {}

/** Fewer rows are leased at once, so the first 100 by due time contain a free one. */
const first_rows = 100

/**
 * Seconds until the next row is due or the next lease lapses; undefined when there is nothing to wait for. Read after
 * every pass, so it reads the first rows only, however many there are.
 */
export async function secondsUntilDue(db: Sql, scope: Scope): Promise<number | undefined> {
  const [row] = await db.query(
    sql<{ seconds: number | null }>`
      select extract(epoch from min(greatest(due_at, lease_until)) - now())::float8 as seconds
      from (select due_at, lease_until from work
            where kind = any (${scope.kinds}) and region_code = any (${regionsOf(scope)})
            order by due_at limit ${first_rows}) as first`,
    'seconds until due',
  )
  return row?.seconds ?? undefined
}

/** No pass is put off for as long: a clock that was ahead wrote such a row, and was set right since. */
const ahead_seconds_max = 3_600

export async function bringForward(db: Db): Promise<void> {
  await db.query(sql`
    update work set due_at = now() where (kind, key) in (
      select kind, key from work where due_at > now() + make_interval(secs => ${ahead_seconds_max})
      for update skip locked)`)
}

export async function listLeaseOwners(db: Sql): Promise<string[]> {
  const rows = await db.query(sql<{ lease_owner: string }>`
    select distinct lease_owner from work where lease_owner is not null and lease_until > now()`)
  return rows.map((row) => row.lease_owner)
}

/** Ends the leases of a server that is known to be dead, so that its work need not wait for them to lapse. */
export async function releaseLeases(db: Sql, owner: string): Promise<void> {
  await db.query(sql`
    update work set lease_token = null, lease_owner = null, lease_until = null where lease_owner = ${owner}`)
  await db.query(sql`select pg_notify('work', '')`)
}

/** 1 s, 2 s, 4 s … up to five minutes; random (0–1) takes off up to half, so that failures do not march in step. */
export function pauseSeconds(again: Exclude<Again, 'never'>, attempts: number, random: number): number {
  if (again !== 'backoff') return again.in_seconds
  const full = Math.min(backoff_seconds_max, 2 ** Math.max(0, attempts - 1))
  return full * (1 - random / 2)
}
