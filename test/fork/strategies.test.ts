// The strategies on real data: what a fork holds and what is its own, parents that do not run, forks of forks, many at
// once, and ends in the middle.
import { readdirSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { type ReadyService, startInstallation } from '#test/installation.ts'
import { listPids } from '#test/data-dir.ts'
import { countOf } from '#test/sample.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { familyOf } from './family.ts'

const installation = shared(startInstallation)
const family = familyOf(installation)
let parent: ReadyService

beforeAll(async () => {
  parent = await installation.createService({ name: 'parent', cpu_millis: 'shared' })
  await family.untilSnapshot(parent)
  await family.rows(parent, 'create table t (n int)')
  await family.rows(parent, 'insert into t values (1)')
})

const at = ({ service_id }: ReadyService, verb = '') => `${installation.services}/${service_id}${verb}`

/** Services that no later test reads are removed while the next test runs. */
const letGo = (service: ReadyService) => installation.call('DELETE', at(service))

const remove = async (service: ReadyService) => {
  await letGo(service)
  await installation.untilStatus(service.service_id, 'removed')
}

test('LAST_SNAPSHOT has what the last snapshot has, and leaves it for the next one', async () => {
  const empty = await family.fork(parent, { fork_strategy: 'LAST_SNAPSHOT' })
  expect(await family.rows(empty, `select count(*) from pg_tables where tablename = 't'`)).toEqual(['0'])
  await letGo(empty)
  const known = (await family.snapshots(parent)).map(({ id }) => id)
  const taken = await installation.call('POST', at(parent, '/snapshots'))
  expect(taken.status).toBe(202)
  await family.untilSnapshot(parent, known)
  for (const round of [1, 2]) {
    const child = await family.fork(parent, { fork_strategy: 'LAST_SNAPSHOT', name: `round ${round}` })
    expect(await family.rows(child, 'select n from t')).toEqual(['1'])
    await letGo(child)
  }
})

test('NOW has every commit from before the request; parent and fork go their own ways', async () => {
  const child = await family.fork(parent, { fork_strategy: 'NOW' })
  expect(await family.rows(child, 'select n from t')).toEqual(['1'])
  await family.rows(child, 'insert into t values (100)')
  expect(await family.rows(parent, 'select n from t')).toEqual(['1'])
  const { body } = await installation.call('GET', at(child))
  expect(body).toMatchObject({
    name: 'parent-fork',
    forked_from: { is_standby: false, service_id: parent.service_id, project_id: installation.project_id },
  })
  expect(child.initial_password).not.toBe(parent.initial_password)
  const stranger = family.session({ ...child, initial_password: parent.initial_password })
  await expect(stranger).rejects.toThrow('password authentication failed')

  // Nothing half-made stays with the parent, and the archive of the fork holds nothing of it.
  await until(async () => (await family.snapshots(parent)).every(({ status }) => status === 'complete'))
  await until(() => !readdirSync(`${family.home(parent)}/snapshots`).some((name) => name.includes('.')))
  await family.untilSnapshot(child)
  const [oldest] = readdirSync(`${family.home(child)}/archive`).toSorted()
  const last_of_parent =
    readdirSync(`${family.home(parent)}/archive`)
      .toSorted()
      .at(-1) ?? ''
  if (oldest !== undefined) expect(oldest >= last_of_parent.slice(0, 24)).toBe(true)
  await letGo(child)
})

test('NOW leaves a snapshot: a LAST_SNAPSHOT fork right after it lacks nothing of it, of a stopped parent too', async () => {
  const other = await family.fork(parent, { fork_strategy: 'NOW' })
  for (const power of ['on', 'off']) {
    await family.rows(other, `create table made_${power} ()`)
    if (power === 'off') {
      await installation.call('POST', at(other, '/stop'))
      await installation.untilStatus(other.service_id, 'PAUSED')
    }
    const first = await family.fork(other, { fork_strategy: 'NOW' })
    const second = await family.fork(other, { fork_strategy: 'LAST_SNAPSHOT' })
    for (const child of [first, second]) {
      expect(await family.rows(child, `select count(*) from pg_tables where tablename = 'made_${power}'`)).toEqual([
        '1',
      ])
      await letGo(child)
    }
  }
  // However many such forks are made, one snapshot of them stays.
  await Promise.all([1, 2].map(() => family.fork(other, { fork_strategy: 'NOW' }).then(letGo)))
  await until(async () => {
    const left = (await family.snapshots(other)).filter(({ kind }) => kind === 'now')
    return left.length === 1 && left[0]?.status === 'complete'
  })
  await letGo(other)
})

test('a parent that is deleted lives on until the forks of what a fork NOW leaves are made', async () => {
  const doomed = await family.fork(parent, { fork_strategy: 'NOW' })
  const heirs = [
    await family.requestFork(doomed, { fork_strategy: 'NOW' }),
    await family.requestFork(doomed, { fork_strategy: 'LAST_SNAPSHOT' }),
  ]
  await letGo(doomed)
  for (const heir of heirs) {
    await installation.untilStatus(heir.service_id, 'READY')
    expect(await family.rows(heir, 'select n from t')).toEqual(['1'])
    await letGo(heir)
  }
  await installation.untilStatus(doomed.service_id, 'removed')
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
  for (const one of line) await letGo(one)
})

test('a stopped parent stays stopped while it is forked, and deleted right after the request it still gives its data', async () => {
  const sleeper = await family.fork(parent, { fork_strategy: 'NOW' })
  await installation.call('POST', at(sleeper, '/stop'))
  await installation.untilStatus(sleeper.service_id, 'PAUSED')
  const child = await family.fork(sleeper, { fork_strategy: 'NOW' })
  expect(await family.rows(child, 'select n from t')).toEqual(['1'])
  await installation.untilStatus(sleeper.service_id, 'PAUSED')

  for (const doomed of [sleeper, child]) {
    const heir = await family.requestFork(doomed, { fork_strategy: 'NOW' })
    await letGo(doomed)
    await installation.untilStatus(heir.service_id, 'READY')
    await installation.untilStatus(doomed.service_id, 'removed')
    expect(await family.rows(heir, 'select n from t')).toEqual(['1'])
    await letGo(heir)
  }
})

test('a fork that is deleted half-way leaves nothing', async () => {
  await family.untilAlone(parent)
  const before = listPids(installation.config.data_dir).length
  for (const fork_strategy of ['NOW', 'LAST_SNAPSHOT'] as const) {
    const child = await family.requestFork(parent, { fork_strategy })
    await remove(child)
  }
  await until(async () => (await family.snapshots(parent)).every(({ status }) => status === 'complete'))
  await family.untilAlone(parent)
  await until(() => listPids(installation.config.data_dir).length <= before, { interval_ms: 200 })
})

test('many forks of one parent at once, of all strategies, all come, and nothing is left when they go', async () => {
  const strategies = ['NOW', 'LAST_SNAPSHOT', 'PITR'] as const
  const target_time = new Date().toISOString()
  const children = await Promise.all(
    Array.from({ length: countOf(20, 6) }, (_, index) => {
      const fork_strategy = strategies[index % strategies.length] ?? 'NOW'
      const target = fork_strategy === 'PITR' ? { target_time } : {}
      return family.requestFork(parent, { fork_strategy, name: `fork ${index}`, ...target })
    }),
  )
  for (const child of children) {
    await installation.untilStatus(child.service_id, 'READY')
    expect(await family.rows(child, 'select n from t')).toEqual(['1'])
  }
  await installation.untilStatus(parent.service_id, 'READY')
  await Promise.all(children.map(remove))
  await until(async () => (await family.snapshots(parent)).every(({ status }) => status === 'complete'))
  await family.untilAlone(parent)
  const known = (await family.snapshots(parent)).map(({ id }) => id)
  await until(() => readdirSync(`${family.home(parent)}/snapshots`).every((name) => known.includes(name)))
})
