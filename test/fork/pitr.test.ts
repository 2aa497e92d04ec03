// Recovery to a moment, exact to the commit: between any two commits, at both edges of the window, in any time zone,
// also of parents that were themselves recovered or do not run.
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { until } from '#test/until.ts'
import { type Family, familyOf } from './family.ts'

let installation: TestInstallation
let family: Family
let parent: ReadyService
/** moments[n] lies after the commit of row n and before that of row n + 1. */
const moments: Date[] = []
const last_row = 6

beforeAll(async () => {
  installation = await startInstallation()
  family = familyOf(installation)
  parent = await installation.createService({ name: 'parent', cpu_millis: 'shared' })
  await family.rows(parent, 'create table t (n int)')
  await family.untilSnapshot(parent)
  // The first snapshot may have been begun before the table was there; this one was not.
  const known = (await family.snapshots(parent)).map(({ id }) => id)
  await installation.call('POST', `${installation.services}/${parent.service_id}/snapshots`)
  await family.untilSnapshot(parent, known)
  moments.push(await momentNow())
  await commitRows(parent, 1, last_row)
})
afterAll(() => installation.stop())

/** A moment that all commits so far lie before and all later ones after. */
async function momentNow(): Promise<Date> {
  const moment = Date.now() + 1
  await until(() => Date.now() > moment + 1, { interval_ms: 1 })
  return new Date(moment)
}

async function commitRows(service: ReadyService, first: number, last: number): Promise<void> {
  const client = await family.session(service)
  for (let n = first; n <= last; n++) {
    await client.query('insert into t values ($1)', [n])
    if (service === parent) moments[n] = await momentNow()
  }
  await client.end()
}

const at = async (service: ReadyService, target_time: string): Promise<string[]> => {
  const child = await family.fork(service, { fork_strategy: 'PITR', target_time })
  const rows = await family.rows(child, 'select n from t order by n')
  expect(existsSync(`${family.home(child)}/restore`)).toBe(false)
  await installation.call('DELETE', `${installation.services}/${child.service_id}`)
  return rows
}

const upTo = (n: number) => Array.from({ length: n }, (_, index) => String(index + 1))

test.each([0, 1, 3, last_row])('the moment after row %i has exactly the rows up to it', async (n) => {
  expect(await at(parent, moments[n]?.toISOString() ?? '')).toEqual(upTo(n))
})

test('the same moment in another time zone is the same moment', async () => {
  const utc = moments[2]?.toISOString() ?? ''
  const shifted = new Date(Date.parse(utc) + 5.5 * 3_600_000).toISOString().replace('Z', '+05:30')
  expect(await at(parent, shifted)).toEqual(upTo(2))
})

test('both edges of the window can be reached, and nothing beyond them', async () => {
  const window = async () => {
    const path = `${installation.services}/${parent.service_id}/restorable`
    return (await installation.call<{ restorable_from: string; restorable_until: string }>('GET', path)).body
  }
  const { restorable_from, restorable_until } = await window()
  const from = await family.fork(parent, { fork_strategy: 'PITR', target_time: restorable_from })
  await family.rows(from, 'select 1')
  expect(await at(parent, restorable_until)).toEqual(upTo(last_row))
  const beyond = [new Date(Date.parse(restorable_from) - 1), new Date(Date.now() + 60_000)]
  for (const target of beyond) {
    const target_time = target.toISOString()
    const path = `${installation.services}/${parent.service_id}/forkService`
    const { status, body } = await installation.call('POST', path, { fork_strategy: 'PITR', target_time })
    expect(status).toBe(400)
    expect(body.message).toContain(restorable_from)
  }
})

test('a fork that was itself recovered can be recovered, on its own timeline', async () => {
  const target_time = moments[3]?.toISOString() ?? ''
  const child = await family.fork(parent, { fork_strategy: 'PITR', target_time })
  await family.untilSnapshot(child)
  await family.rows(child, 'insert into t values (10)')
  const between = await momentNow()
  await family.rows(child, 'insert into t values (11)')
  expect(await at(child, between.toISOString())).toEqual([...upTo(3), '10'])
  const grandchild = await family.fork(child, { fork_strategy: 'NOW' })
  await family.untilSnapshot(grandchild)
  await family.rows(grandchild, 'insert into t values (12)')
  const later = await momentNow()
  expect(await at(grandchild, later.toISOString())).toEqual([...upTo(3), '10', '11', '12'])
})

test('a stopped parent can be recovered to any of its moments, also after its last commit', async () => {
  const sleeper = await family.fork(parent, { fork_strategy: 'NOW' })
  await family.untilSnapshot(sleeper)
  await family.rows(sleeper, 'insert into t values (20)')
  const between = await momentNow()
  await family.rows(sleeper, 'insert into t values (21)')
  const after = await momentNow()
  await installation.call('POST', `${installation.services}/${sleeper.service_id}/stop`)
  await installation.untilStatus(sleeper.service_id, 'PAUSED')
  expect(await at(sleeper, between.toISOString())).toEqual([...upTo(last_row), '20'])
  expect(await at(sleeper, after.toISOString())).toEqual([...upTo(last_row), '20', '21'])
  expect(await at(sleeper, new Date().toISOString())).toEqual([...upTo(last_row), '20', '21'])
})

test('a snapshot of a stopped parent leads to every moment after its next start', async () => {
  const sleeper = await family.fork(parent, { fork_strategy: 'NOW' })
  await family.untilSnapshot(sleeper)
  const known = (await family.snapshots(sleeper)).map(({ id }) => id)
  const at_sleeper = `${installation.services}/${sleeper.service_id}`
  await installation.call('POST', `${at_sleeper}/stop`)
  await installation.untilStatus(sleeper.service_id, 'PAUSED')
  await installation.call('POST', `${at_sleeper}/snapshots`)
  await family.untilSnapshot(sleeper, known)
  await installation.call('POST', `${at_sleeper}/start`)
  await installation.untilStatus(sleeper.service_id, 'READY')
  await family.rows(sleeper, 'insert into t values (30)')
  const between = await momentNow()
  await family.rows(sleeper, 'insert into t values (31)')
  expect(await at(sleeper, between.toISOString())).toEqual([...upTo(last_row), '30'])
})
