// kill -9 of the server at effects of a fork NOW: always the same end, nothing orphaned.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Killing, startKilling } from './killing.ts'

/** What every new service goes through is the test of create. */
const chosen = /^(lock|snapshots?|copy|fork|postmaster|deleted snapshot|archived WAL)\b/

let killing: Killing

beforeAll(async () => {
  killing = await startKilling()
})
afterAll(() => killing.stop())

test('a fork NOW that is killed anywhere ends with one fork that has the data', { timeout: 900_000 }, async () => {
  const parent = await killing.made('', { name: 'parent', cpu_millis: 'shared' })
  await killing.query(parent, 'create table t as select 42 as n')
  const effects = await killing.killAtEvery(parent, { fork_strategy: 'NOW' }, chosen, async (child) => {
    expect(await killing.query(child, 'select n from t')).toEqual(['42'])
  })
  expect(effects).toEqual(
    expect.arrayContaining(['copy: files', 'snapshot: rename into place', 'fork: rename into place']),
  )
  expect(await killing.query(parent, 'select n from t')).toEqual(['42'])
})
