// kill -9 of the server at effects of a PITR fork: always the same end, exact to the commit, nothing orphaned.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '#test/until.ts'
import { type Killing, startKilling } from './killing.ts'

/** The rest is the same for a fork NOW. */
const chosen = /^(fork|gathered WAL|parent|replay|postmaster)\b/

let killing: Killing

beforeAll(async () => {
  killing = await startKilling()
})
afterAll(() => killing.stop())

test('a PITR fork that is killed anywhere ends with the state of its moment', { timeout: 900_000 }, async () => {
  const parent = await killing.made('', { name: 'parent', cpu_millis: 'shared' })
  await killing.untilQuiet()
  await killing.query(parent, 'create table t as select 1 as n')
  const moment = Date.now() + 1
  await until(() => Date.now() > moment + 1)
  await killing.query(parent, 'insert into t values (2)')
  const input = { fork_strategy: 'PITR', target_time: new Date(moment).toISOString() } as const
  const effects = await killing.killAtEvery(parent, input, chosen, async (child) => {
    expect(await killing.query(child, 'select n from t')).toEqual(['1'])
  })
  expect(effects).toEqual(
    expect.arrayContaining(['gathered WAL: copy', 'postmaster: spawn', 'replay: forget settings']),
  )
})
