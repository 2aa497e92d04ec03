// The loop on a real store, with subjects that only count their passes.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Db, openDb } from '#server/store/db.ts'
import { newLog } from '#server/log.ts'
import { type Reconcile, type Reconciler, startReconciler } from '#server/reconciler.ts'
import { alarm, nudge, nudgeAll } from '#server/work.ts'
import { storeUrlOf } from '#test/database.ts'
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'

const howdah = shared(startInstallation)
let db: Db
let kind: string
let loops: Reconciler[]

beforeAll(async () => {
  db = openDb(storeUrlOf(howdah.config.data_dir))
})

beforeEach(() => {
  kind = `test-${randomUUID()}`
  loops = []
})

afterEach(async () => {
  await Promise.all(loops.map((loop) => loop.stop()))
})

afterAll(async () => {
  await db?.close()
})

const done = { again: { in_seconds: 300 }, save: async () => {} } as const

function startLoop(reconcile: Reconcile): void {
  loops.push(startReconciler({ db, log: newLog('silent'), regions: ['local'], reconcile: { [kind]: reconcile } }))
}

test('a nudge leads to a pass at once, and each further nudge to one more', async () => {
  let passes = 0
  startLoop(async () => {
    passes += 1
    return done
  })
  for (let count = 1; count <= 3; count += 1) {
    await nudge(db, kind, 'key')
    await until(() => passes === count)
  }
})

test('a pass that throws is tried again', async () => {
  let passes = 0
  startLoop(async () => {
    passes += 1
    if (passes === 1) throw new Error('the first one fails')
    return done
  })
  await nudge(db, kind, 'key')
  await until(() => passes === 2)
})

test('two loops on one store never pass over one subject at the same time', async () => {
  const busy = new Set<string>()
  let passes = 0
  let clashes = 0
  const reconcile: Reconcile = async (key) => {
    if (busy.has(key)) clashes += 1
    busy.add(key)
    await db.query('select pg_sleep(0.001)')
    busy.delete(key)
    passes += 1
    return done
  }
  startLoop(reconcile)
  startLoop(reconcile)
  for (let count = 0; count < 60; count += 1) await nudge(db, kind, `key-${count % 3}`)
  await until(async () => (await countDue()) === 0)
  expect(passes).toBeGreaterThanOrEqual(3)
  expect(clashes).toBe(0)
})

test('a lease that lapsed under a pass comes back to the same process, which ends the first pass before', async () => {
  const gate = Promise.withResolvers<void>()
  let begun = 0
  let under_way = 0
  let most = 0
  startLoop(async () => {
    begun += 1
    under_way += 1
    most = Math.max(most, under_way)
    if (begun === 1) await gate.promise
    under_way -= 1
    return done
  })
  await nudge(db, kind, 'key')
  await until(() => begun === 1)
  const token = await leaseToken()
  // As after a pause of the whole machine.
  await db.query(`update work set lease_until = now(), due_at = now() where kind = $1`, [kind])
  await nudge(db, kind, 'key')
  await until(async () => (await leaseToken()) !== token, { what: 'the row is claimed again' })
  gate.resolve()
  // Three, when it was claimed again before the nudge, which then asks for one more.
  await until(() => begun >= 2)
  await until(async () => (await countDue()) === 0)
  expect(most).toBe(1)
})

test('what is urgent waits neither for the passes that are under way nor for all that is due before', async () => {
  const gate = Promise.withResolvers<void>()
  const begun: string[] = []
  const looked_at: string[] = []
  startLoop(async (key) => {
    begun.push(key)
    if (key.startsWith('long')) await gate.promise
    else looked_at.push(key)
    return done
  })
  const keys = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name}-${index}`)
  await nudgeAll(db, kind, keys('long', 8))
  await until(() => begun.length === 8)
  await nudgeAll(db, kind, ['dead', ...keys('due', 50)])
  await alarm(db, kind, ['dead'])
  await until(() => looked_at.length > 0)
  expect(looked_at).toEqual(['dead'])
  gate.resolve()
  await until(() => looked_at.length === 51)
})

test('an alarm for an unknown key leaves no row', async () => {
  await alarm(db, kind, ['unknown'])
  expect(await db.query(`select from work where key = 'unknown'`)).toEqual([])
})

async function leaseToken(): Promise<string | null | undefined> {
  const [row] = await db.query<{ lease_token: string | null }>(`select lease_token from work where kind = $1`, [kind])
  return row?.lease_token
}

async function countDue(): Promise<number> {
  const rows = await db.query(
    `select from work where kind = $1 and (due_at <= now() + interval '1 second' or lease_token is not null)`,
    [kind],
  )
  return rows.length
}
