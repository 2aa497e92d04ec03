// The work queue against a real store. Its rows are of a kind of their own, which no reconciler of the server claims.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Db, openDb, type Sql } from '#server/store/db.ts'
import { hasEnded, ownName } from '#providers/host/process-name.ts'
import { bringForward, type Claim, claim, nudge, releaseLeases, renew, secondsUntilDue, settle } from '#server/work.ts'
import { storeUrlOf } from '#test/database.ts'
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'

const howdah = shared(startInstallation)
let db: Db
let kind: string

beforeAll(async () => {
  db = openDb(storeUrlOf(howdah.config.data_dir))
})

beforeEach(() => {
  kind = `test-${randomUUID()}`
})

afterAll(async () => {
  await db?.close()
})

const nothing = async () => {}
const well = { again: { in_seconds: 300 }, random: 0 } as const
const failed = { again: 'backoff', error: 'it rained', random: 0 } as const

/** Of tests alone; what they nudge is of no region. */
const scope = () => ({ kinds: [kind], regions: ['local'] })

async function claimOne(owner = 'somebody'): Promise<Claim> {
  const [one] = await claim(db, scope(), owner, 1)
  if (one === undefined) throw new Error('nothing is due')
  return one
}

const tell = (tx: Sql, message: string) =>
  tx
    .query(`insert into service_events (service_id, kind, message) values ($1, 'test', $2)`, [kind, message])
    .then(nothing)

const listTold = async () =>
  (await db.query<{ message: string }>(`select message from service_events where service_id = $1`, [kind])).map(
    ({ message }) => message,
  )

/** As if time had passed: the rows are due, their leases have lapsed. */
const passTime = () =>
  db.query(
    `update work set due_at = now(), lease_until = case when lease_until is null then null else now() end
     where kind = $1`,
    [kind],
  )

test('many claimers at once never share a row, and none is left out', async () => {
  const keys = Array.from({ length: 100 }, (_, index) => `key-${index}`)
  for (const key of keys) await nudge(db, kind, key)
  const claimed: string[] = []
  const claimer = async (owner: string) => {
    for (let batch = await claim(db, scope(), owner, 3); batch.length > 0; batch = await claim(db, scope(), owner, 3)) {
      claimed.push(...batch.map(({ key }) => key))
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, index) => claimer(`owner-${index}`)))
  expect(claimed.toSorted()).toEqual(keys.toSorted())
})

test('a row under a lease is not due for another server, and is once the lease has lapsed', async () => {
  await nudge(db, kind, 'key')
  const first = await claimOne('first')
  expect(await claim(db, scope(), 'second', 1)).toEqual([])
  expect(await renew(db, first)).toBe(true)
  await passTime()
  const second = await claimOne('second')
  expect(second.lease_token).not.toBe(first.lease_token)
})

test('who has lost the lease renews nothing and writes nothing', async () => {
  await nudge(db, kind, 'key')
  const lost = await claimOne('first')
  await passTime()
  const held = await claimOne('second')

  expect(await renew(db, lost)).toBe(false)
  expect(await settle(db, lost, well, (tx) => tell(tx, 'from the loser'))).toBe(false)
  expect(await listTold()).toEqual([])

  expect(await settle(db, held, well, (tx) => tell(tx, 'from the owner'))).toBe(true)
  expect(await listTold()).toEqual(['from the owner'])
})

test('a settled row waits for its time, and a nudge makes it due at once', async () => {
  await nudge(db, kind, 'key')
  await settle(db, await claimOne(), well, nothing)
  expect(await claim(db, scope(), 'somebody', 1)).toEqual([])
  expect(await secondsUntilDue(db, scope())).toBeGreaterThan(200)
  await nudge(db, kind, 'key')
  expect((await claimOne()).key).toBe('key')
})

test('a nudge for later brings a pass forward to then, and puts none off', async () => {
  await nudge(db, kind, 'key')
  await settle(db, await claimOne(), well, nothing)
  await nudge(db, kind, 'key', 100)
  expect(await claim(db, scope(), 'somebody', 1)).toEqual([])
  const seconds = await secondsUntilDue(db, scope())
  expect(seconds).toBeGreaterThan(50)
  expect(seconds).toBeLessThanOrEqual(100)
  await nudge(db, kind, 'key')
  await nudge(db, kind, 'key', 100)
  expect((await claimOne()).key).toBe('key')
})

test('what a clock that was ahead has put off for hours is due again, and what waits as it should goes on waiting', async () => {
  await nudge(db, kind, 'key')
  await settle(db, await claimOne(), well, nothing)
  await bringForward(db)
  expect(await claim(db, scope(), 'somebody', 1)).toEqual([])
  await db.query(`update work set due_at = now() + interval '2 hours' where kind = $1`, [kind])
  await bringForward(db)
  expect((await claimOne()).key).toBe('key')
})

test('a nudge during a pass is not lost', async () => {
  await nudge(db, kind, 'key')
  const one = await claimOne()
  await nudge(db, kind, 'key')
  await settle(db, one, well, nothing)
  expect((await claimOne()).nudges).toBe(one.nudges + 1)
})

test('pauses after failures grow, the reason is kept, and a success or a nudge begins anew', async () => {
  const failOnce = async () => {
    await passTime()
    await settle(db, await claimOne(), failed, nothing)
    const [row] = await db.query<{ pause: number; attempts: number; error: string }>(
      `select round(extract(epoch from due_at - now()))::int as pause, attempts, error from work where kind = $1`,
      [kind],
    )
    return row
  }
  await nudge(db, kind, 'key')
  const pauses = []
  for (let count = 1; count <= 9; count += 1) pauses.push(await failOnce())
  expect(pauses.map((row) => row?.attempts)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(pauses.at(-1)).toMatchObject({ error: 'it rained' })
  const seconds = pauses.map((row) => row?.pause ?? 0)
  expect(seconds).toEqual(seconds.toSorted((a, b) => a - b))
  expect(seconds.at(-1)).toBeGreaterThan(200)

  await nudge(db, kind, 'key')
  expect((await claimOne()).attempts).toBe(0)
})

test('a removed subject takes its row along', async () => {
  await nudge(db, kind, 'key')
  await settle(db, await claimOne(), { again: 'never', random: 0 }, nothing)
  expect(await secondsUntilDue(db, scope())).toBeUndefined()
})

test('what is saved and the end of the claim are one: a save that fails leaves the claim as it was', async () => {
  await nudge(db, kind, 'key')
  const one = await claimOne()
  const fails = async (tx: Sql) => {
    await tell(tx, 'half an event')
    throw new Error('the save failed')
  }
  await expect(settle(db, one, well, fails)).rejects.toThrow('the save failed')
  expect(await listTold()).toEqual([])
  expect(await renew(db, one)).toBe(true)
})

test('leases of a dead server are released at once, and those of others are not', async () => {
  await nudge(db, kind, 'of the dead')
  await claimOne('dead')
  await nudge(db, kind, 'of the living')
  await claimOne('living')
  await releaseLeases(db, 'dead')
  expect((await claimOne('heir')).key).toBe('of the dead')
  expect(await claim(db, scope(), 'heir', 1)).toEqual([])
})

test('an exited process is known to be dead; a running one, or one of another host, is not', async () => {
  const module = join(import.meta.dirname, '../../providers/host/process-name.ts')
  const script = `import { ownName } from ${JSON.stringify(module)}; process.stdout.write(ownName())`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
  expect(stdout.split('/')).toHaveLength(4)
  expect(hasEnded(stdout)).toBe(true)
  expect(hasEnded(ownName())).toBe(false)
  expect(hasEnded(`another-boot${stdout.slice(stdout.indexOf('/'))}`)).toBe(false)
})

test('a request that nudges and a pass that settles on the same subject do not lock each other out', async () => {
  const subject = `update projects set name = name where id = $1`
  await nudge(db, kind, 'key')
  const one = await claimOne()
  let settled: Promise<boolean> | undefined
  await db.transaction(async (tx) => {
    await tx.query(subject, [howdah.project_id])
    settled = settle(db, one, well, (own) => own.query(subject, [howdah.project_id]).then(nothing))
    await until(() => isLockAwaited(), { what: 'the settle waits for the subject' })
    await nudge(tx, kind, 'key')
  })
  expect(await settled).toBe(true)
  expect((await claimOne()).nudges).toBe(one.nudges + 1)
})

async function isLockAwaited(): Promise<boolean> {
  const [row] = await db.query<{ found: boolean }>(
    `select exists (select from pg_stat_activity where wait_event_type = 'Lock') as found`,
  )
  return row?.found === true
}

test('a pass whose save deadlocks with another transaction gives way, and is saved all the same', async () => {
  await nudge(db, kind, 'own')
  const one = await claimOne()
  await nudge(db, kind, 'another')
  const own_held = Promise.withResolvers<void>()
  const another_held = Promise.withResolvers<void>()
  const other = db.transaction(async (tx) => {
    // The first to notice gives way: the pass.
    await tx.query(`set local deadlock_timeout = '1min'`)
    await nudge(tx, kind, 'own')
    own_held.resolve()
    await another_held.promise
    await nudge(tx, kind, 'another')
  })
  let saves = 0
  const ended = settle(db, one, well, async (tx) => {
    saves += 1
    await own_held.promise
    await nudge(tx, kind, 'another')
    another_held.resolve()
  })
  expect(await ended).toBe(true)
  await other
  // Again and again, where the next attempt is quicker than the other transaction, whose process has to wake first.
  expect(saves).toBeGreaterThan(1)
})
