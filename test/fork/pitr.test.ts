// Recovery to a moment, exact to the commit: between any two commits, at both edges of the window, in any time zone,
// also of parents that were themselves recovered or do not run.
import { existsSync } from 'node:fs'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { type ReadyService, startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { momentNow, until } from '#test/until.ts'
import { familyOf } from './family.ts'

const installation = shared(() =>
  startInstallation({
    effect: async (name) => {
      if (name === 'snapshot: make folder') await held
    },
  }),
)
const family = familyOf(installation)
let parent: ReadyService
/** moments[n] lies after the commit of row n and before that of row n + 1. */
const moments: Date[] = []
const last_row = 6

/** What snapshots wait for. */
let held: Promise<void> | undefined

beforeAll(async () => {
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

test('every moment has exactly the rows committed up to it, also when it is written in another time zone', async () => {
  const chosen = [0, 1, 3, last_row]
  const utc = chosen.map((n) => moments[n]?.toISOString() ?? '')
  const shifted = new Date((moments[2]?.getTime() ?? 0) + 5.5 * 3_600_000).toISOString().replace('Z', '+05:30')
  const found = await Promise.all([...utc, shifted].map((target_time) => at(parent, target_time)))
  expect(found).toEqual([...chosen, 2].map(upTo))
})

test('a moment is exact to the microsecond', async () => {
  const client = await family.session(parent)
  await client.query('create table fine (n int, after_the_last timestamptz)')
  await client.query('set synchronous_commit = off')
  // Without waiting for the disk, commits are some dozen microseconds apart.
  await client.query(`do $$ begin
    for n in 1..60 loop insert into fine values (n, clock_timestamp()); commit; end loop; end $$`)
  // Of those in one millisecond, the second one.
  const { rows } = await client.query<{ n: number; moment: string }>(
    `select n, to_char(after_the_last at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') as moment
     from fine one where n > 1 and date_trunc('milliseconds', after_the_last) =
       (select date_trunc('milliseconds', after_the_last) from fine where n = one.n - 1) order by n desc limit 1`,
  )
  await client.end()
  const [{ n, moment } = { n: 0, moment: '' }] = rows
  const child = await family.fork(parent, { fork_strategy: 'PITR', target_time: `${moment}999Z` })
  expect(await family.rows(child, 'select max(n) from fine')).toEqual([String(n - 1)])
  const lineage = await installation.call<{ service_id: string; forked_from?: { moment: string } }[]>(
    'GET',
    `/projects/${installation.project_id}/lineage`,
  )
  const told = lineage.body.find(({ service_id }) => service_id === child.service_id)?.forked_from?.moment
  expect(told).toBe(`${moment}Z`)
})

test('both edges of the window can be reached, and nothing beyond them', async () => {
  const window = async () => {
    const path = `${installation.services}/${parent.service_id}/restorable`
    return (await installation.call<{ restorable_from: string; restorable_until: string }>('GET', path)).body
  }
  const { restorable_from, restorable_until } = await window()
  const from = await family.requestFork(parent, { fork_strategy: 'PITR', target_time: restorable_from })
  expect(await at(parent, restorable_until)).toEqual(upTo(last_row))
  await installation.untilStatus(from.service_id, 'READY')
  await family.rows(from, 'select 1')
  const beyond = [new Date(Date.parse(restorable_from) - 1), new Date(Date.now() + 60_000)]
  for (const target of beyond) {
    const target_time = target.toISOString()
    const path = `${installation.services}/${parent.service_id}/forkService`
    const { status, body } = await installation.call('POST', path, { fork_strategy: 'PITR', target_time })
    expect(status).toBe(400)
    expect(body.details).toContain(restorable_from)
  }
})

test('until its first snapshot is complete, a service that is READY says that no moment can be restored yet', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  held = promise
  onTestFinished(() => {
    held = undefined
    resolve()
  })
  const service = await installation.createService({ name: 'new', cpu_millis: 'shared' })
  const path = `${installation.services}/${service.service_id}/restorable`
  const window = async () => (await installation.call<Partial<Record<string, string>>>('GET', path)).body
  expect(await window()).toEqual({ waiting_for: expect.stringContaining('moments before it cannot be restored') })
  resolve()
  const { waiting_for } = await until(async () => {
    const now = await window()
    return now['restorable_from'] !== undefined && now
  })
  expect(waiting_for).toBeUndefined()
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
  const targets = [between, after, new Date()].map((target) => at(sleeper, target.toISOString()))
  const all = [...upTo(last_row), '20', '21']
  expect(await Promise.all(targets)).toEqual([all.slice(0, -1), all, all])
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
