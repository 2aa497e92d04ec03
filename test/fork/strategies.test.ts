// The strategies on real data: what a fork holds and what is its own, parents that do not run, forks of forks, many at
// once, and ends in the middle.
import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { listPids } from '#test/data-dir.ts'
import { orphansOf } from '#test/traces.ts'
import { until } from '#test/until.ts'
import { type Family, familyOf } from './family.ts'

let installation: TestInstallation
let family: Family
let parent: ReadyService

beforeAll(async () => {
  installation = await startInstallation()
  family = familyOf(installation)
  parent = await installation.createService({ name: 'parent', cpu_millis: 'shared' })
  await family.untilSnapshot(parent)
  await family.rows(parent, 'create table t (n int)')
  await family.rows(parent, 'insert into t values (1)')
})
afterAll(() => installation.stop())

const remove = async ({ service_id }: ReadyService) => {
  await installation.call('DELETE', `${installation.services}/${service_id}`)
  await installation.untilStatus(service_id, 'gone')
}

test('NOW has what was committed before the request; parent and fork go their own ways', async () => {
  const child = await family.fork(parent, { fork_strategy: 'NOW' })
  expect(await family.rows(child, 'select n from t')).toEqual(['1'])
  await family.rows(child, 'insert into t values (100)')
  expect(await family.rows(parent, 'select n from t')).toEqual(['1'])
  const { body } = await installation.call('GET', `${installation.services}/${child.service_id}`)
  expect(body).toMatchObject({
    name: 'parent-fork',
    forked_from: { is_standby: false, service_id: parent.service_id, project_id: installation.project_id },
  })
  await remove(child)
})

test('a fork has its own password, and the one of its parent is worth nothing there', async () => {
  const child = await family.fork(parent, { fork_strategy: 'NOW' })
  expect(child.initial_password).not.toBe(parent.initial_password)
  const stranger = family.session({ ...child, initial_password: parent.initial_password })
  await expect(stranger).rejects.toThrow('password authentication failed')
  await remove(child)
})

test('LAST_SNAPSHOT has what the last snapshot has, and leaves it for the next one', async () => {
  const empty = await family.fork(parent, { fork_strategy: 'LAST_SNAPSHOT' })
  expect(await family.rows(empty, `select count(*) from pg_tables where tablename = 't'`)).toEqual(['0'])
  const known = (await family.snapshots(parent)).map(({ id }) => id)
  const taken = await installation.call('POST', `${installation.services}/${parent.service_id}/snapshots`)
  expect(taken.status).toBe(202)
  await family.untilSnapshot(parent, known)
  for (const round of [1, 2]) {
    const child = await family.fork(parent, { fork_strategy: 'LAST_SNAPSHOT', name: `round ${round}` })
    expect(await family.rows(child, 'select n from t')).toEqual(['1'])
    await remove(child)
  }
  await remove(empty)
})

test('the snapshot of a fork goes when the fork is made, and its archive holds nothing of the parent', async () => {
  const child = await family.fork(parent, { fork_strategy: 'NOW' })
  await until(async () => (await family.snapshots(parent)).every(({ kind }) => kind !== 'fork'))
  await until(() => !readdirSync(`${family.home(parent)}/snapshots`).some((name) => name.includes('.')))
  await family.untilSnapshot(child)
  const [oldest] = readdirSync(`${family.home(child)}/archive`).toSorted()
  const last_of_parent =
    readdirSync(`${family.home(parent)}/archive`)
      .toSorted()
      .at(-1) ?? ''
  if (oldest !== undefined) expect(oldest >= last_of_parent.slice(0, 24)).toBe(true)
  await remove(child)
})

test('a fork of a fork of a fork has the data of all', async () => {
  let youngest = parent
  const line: ReadyService[] = []
  for (const generation of [2, 3, 4]) {
    youngest = await family.fork(youngest, { fork_strategy: 'NOW' })
    line.push(youngest)
    await family.rows(youngest, `insert into t values (${generation})`)
  }
  expect(await family.rows(youngest, 'select n from t order by n')).toEqual(['1', '2', '3', '4'])
  expect(await family.rows(parent, 'select n from t')).toEqual(['1'])
  const { body } = await installation.call<{ service_id: string; forked_from?: { service_id: string } }[]>(
    'GET',
    `/projects/${installation.project_id}/lineage`,
  )
  const parents = line.map((it) => body.find(({ service_id }) => service_id === it.service_id)?.forked_from?.service_id)
  expect(parents).toEqual([parent, ...line.slice(0, -1)].map(({ service_id }) => service_id))
  for (const one of line) await remove(one)
})

test('a stopped parent stays stopped while it is forked', async () => {
  const sleeper = await family.fork(parent, { fork_strategy: 'NOW' })
  await installation.call('POST', `${installation.services}/${sleeper.service_id}/stop`)
  await installation.untilStatus(sleeper.service_id, 'PAUSED')
  const child = await family.fork(sleeper, { fork_strategy: 'NOW' })
  expect(await family.rows(child, 'select n from t')).toEqual(['1'])
  await installation.untilStatus(sleeper.service_id, 'PAUSED')
  await remove(child)
  await remove(sleeper)
})

test('a parent that is deleted right after the request still gives its data', async () => {
  const doomed = await family.fork(parent, { fork_strategy: 'NOW' })
  const child = await family.requestFork(doomed, { fork_strategy: 'NOW' })
  await installation.call('DELETE', `${installation.services}/${doomed.service_id}`)
  await installation.untilStatus(child.service_id, 'READY')
  await installation.untilStatus(doomed.service_id, 'gone')
  expect(await family.rows(child, 'select n from t')).toEqual(['1'])
  await remove(child)
})

test('a fork that is deleted half-way leaves nothing', async () => {
  const before = listPids(installation.config.data_dir).length
  for (const fork_strategy of ['NOW', 'LAST_SNAPSHOT'] as const) {
    const child = await family.requestFork(parent, { fork_strategy })
    await remove(child)
  }
  await until(async () => (await family.snapshots(parent)).every(({ kind }) => kind !== 'fork'))
  await until(() => orphansOf(installation.config.data_dir, [parent.service_id]).length === 0)
  await until(() => listPids(installation.config.data_dir).length <= before)
})

test('ten forks of one parent at once all come', { timeout: 120_000 }, async () => {
  const strategies = ['NOW', 'LAST_SNAPSHOT'] as const
  const children = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      family.requestFork(parent, { fork_strategy: strategies[index % 2] ?? 'NOW', name: `fork ${index}` }),
    ),
  )
  for (const child of children) {
    await installation.untilStatus(child.service_id, 'READY')
    expect(await family.rows(child, 'select n from t')).toEqual(['1'])
  }
  await Promise.all(children.map(remove))
})
