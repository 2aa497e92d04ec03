// The life of a service that has everything: replicas, a pooler and a read replica set, as a client sees it. The tests tell
// one sequence on one installation and run in their order.
import { expect, test } from 'vitest'
import type { ReadReplicaSet } from '#contract/replica-set.ts'
import { ask } from '#test/database.ts'
import { type ReadyService, startInstallation } from '#test/installation.ts'
import { scrape } from '#test/metrics-scrape.ts'
import { objectionsTo, why_no_promtool } from '#test/promtool.ts'
import { shared } from '#test/shared.ts'
import { orphansOf } from '#test/traces.ts'
import { nodesOf } from '#test/history/nodes.ts'
import { until } from '#test/until.ts'

type Place = { endpoint: { host: string; port: number } }

const howdah = shared(startInstallation)
let service: ReadyService
let set: ReadReplicaSet

const path = (verb = '') => `${howdah.services}/${service.service_id}${verb}`
const query = (sql: string, at: Place = service) => ask(howdah.server.api_url, at, service.initial_password, sql)
/** Where the service shows its pooler. */
const poolerOf = async (): Promise<Place> => {
  const { connection_pooler } = (await howdah.call('GET', path())).body
  if (connection_pooler === undefined) throw new Error('the service shows no pooler')
  return connection_pooler
}
const sets = async () => (await howdah.call<ReadReplicaSet[]>('GET', path('/replicaSets'))).body

test('a service with a synchronous replica is READY when the replica follows', async () => {
  service = await howdah.createService({ cpu_millis: 'shared', replica_count: 1, sync_replica_count: 1 })
  const { body } = await howdah.call('GET', path())
  expect(body.ha_replicas).toEqual({ replica_count: 1, sync_replica_count: 1 })
  expect(await query('select sync_state from pg_stat_replication')).toEqual(['quorum'])
  await query('create table kept (word text)')
  await query(`insert into kept values ('before')`)
})

test('a pooler is there when the answer comes, and its own endpoint tells so', async () => {
  const enable = () => howdah.call('POST', path('/enablePooler'))
  const answers = await Promise.all([enable(), enable(), enable()])
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409])
  expect(answers.find(({ status }) => status === 200)?.body.message).toBe('the pooler is enabled')
  expect(await query('select word from kept', await poolerOf())).toEqual(['before'])
  expect((await howdah.call('GET', path())).body.status).toBe('READY')
})

test('a read replica set is creating, then active, and reads what the primary wrote', async () => {
  const input = { name: ' readers ', nodes: '2', cpu_millis: '500', memory_gbs: 2 }
  const answer = await howdah.call<ReadReplicaSet>('POST', path('/replicaSets'), input)
  expect(answer).toMatchObject({ status: 202, body: { name: 'readers', nodes: 2, status: 'creating' } })
  set = await until(async () => (await sets()).find(({ status }) => status === 'active'))
  expect(set).toMatchObject({ id: answer.body.id, endpoint: answer.body.endpoint })
  await until(async () => (await query('select word from kept', set)).includes('before'))
  await expect(query(`insert into kept values ('never')`, set)).rejects.toThrow('read-only')
  const as_service = await howdah.call('GET', `${howdah.services}/${set.id}`)
  expect(as_service.body).toMatchObject({ status: 'READY', endpoint: set.endpoint, forked_from: { is_standby: true } })
})

test('a set has a pooler and a size of its own', async () => {
  const at = path(`/replicaSets/${set.id}`)
  expect(await howdah.call('POST', `${at}/enablePooler`)).toMatchObject({ status: 200 })
  const pooled = (await sets())[0]?.connection_pooler
  if (pooled === undefined) throw new Error('the set shows no pooler')
  expect(await query('select word from kept', pooled)).toEqual(['before'])
  expect(await howdah.call('POST', `${at}/disablePooler`)).toMatchObject({ status: 200 })
  await expect(query('select 1', pooled)).rejects.toThrow('ECONNREFUSED')
  const resized = await howdah.call('POST', `${at}/resize`, { cpu_millis: '1000', memory_gbs: '4' })
  expect(resized.status).toBe(202)
  expect(await sets()).toMatchObject([{ status: 'resizing', cpu_millis: 1000, memory_gbs: 4 }])
  await until(async () => (await sets())[0]?.status === 'active')
  expect(await query('show shared_buffers', set)).toEqual(['1GB'])
})

test('the log of each node is read by its number, and there is no other', async () => {
  type Logs = { logs: string[] }
  for (const node of [0, 1]) {
    const { status, body } = await howdah.call<Logs>('GET', path(`/logs?node=${node}`))
    expect([status, body.logs.length > 0]).toEqual([200, true])
  }
  const answer = await howdah.call('GET', path('/logs?node=2'))
  const message = 'query/node: there is no such node; leave it out to read the primary, or the first of a replica set'
  expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST', details: message } })
})

test('how far its replicas and sets are behind is a metric of the service, and of each node', async () => {
  const whose = `service_id="${service.service_id}",project_id="${howdah.project_id}"`
  const of_set = `${whose},role="replica_set",replica_set_id="${set.id}"`
  const nodes = [`${whose},role="replica",node="1"`, `${of_set},node="0"`, `${of_set},node="1"`]
  const samples = [
    `howdah_service_replication_lag_bytes{${whose},role="replica"} `,
    ...nodes.flatMap((labels) => ['bytes', 'seconds'].map((unit) => `howdah_replica_lag_${unit}{${labels}} `)),
  ]
  // A node that has just connected is measured a little later than the others.
  const text = await until(
    async () => {
      const answer = (await scrape(howdah)).text
      return samples.every((sample) => answer.includes(sample)) && answer
    },
    { what: 'every node is measured' },
  )
  if (why_no_promtool === '') expect(objectionsTo(text)).toBe('')
  const name = 'replication_lag_bytes'
  const [from, to] = [-60_000, 60_000].map((ms) => new Date(Date.now() + ms).toISOString())
  type Series = { labels: { role: string }; data: { value: number | null }[] }[]
  const { body } = await howdah.call<Series>('POST', path('/metrics/series'), {
    name,
    from,
    to,
    filters: [{ key: 'role', value: 'replica' }],
  })
  expect(body.map((series) => series.labels)).toEqual([{ role: 'replica' }])
  expect(body[0]?.data.some(({ value }) => value !== null)).toBe(true)
})

test('a killed primary is replaced: nothing that was committed is lost, and all endpoints stay', async () => {
  await query(`insert into kept values ('acknowledged')`)
  const before = primary()
  process.kill(before.pid, 'SIGKILL')
  const words = await until(async () => {
    await query(`insert into kept values ('after')`)
    return query('select distinct word from kept order by word')
  })
  expect(words).toEqual(['acknowledged', 'after', 'before'])
  const { body } = await howdah.untilStatus(service.service_id, 'READY')
  expect(body.endpoint).toEqual(service.endpoint)
  expect(primary().data).not.toBe(before.data)
  const pooler = await poolerOf()
  await until(async () => (await query('select word from kept', pooler)).includes('after'))
  await until(async () => (await query('select word from kept', set)).includes('after'))
})

test('a planned switchover changes the primary and loses nothing', async () => {
  // The killed node is starting again.
  await until(async () => (await query(`select from pg_stat_replication where sync_state = 'quorum'`)).length === 1)
  const before = primary()
  const words = await query('select word from kept')
  const answer = await howdah.call('POST', path('/switchover'))
  expect(answer).toMatchObject({ status: 202, body: { status: 'CONFIGURING' } })
  await howdah.untilStatus(service.service_id, 'READY')
  expect(primary().data, JSON.stringify(await howdah.eventsOf(service.service_id))).not.toBe(before.data)
  expect(await query('select word from kept')).toEqual(words)
})

test('everything stops and starts with the service', async () => {
  await howdah.call('POST', path('/stop'))
  await howdah.untilStatus(service.service_id, 'PAUSED')
  await until(async () =>
    query('select 1', set).then(
      () => false,
      () => true,
    ),
  )
  expect((await howdah.call('GET', `${howdah.services}/${set.id}`)).body.status).toBe('PAUSED')
  await howdah.call('POST', path('/start'))
  await howdah.untilStatus(service.service_id, 'READY')
  await until(async () => (await query('select word from kept', set)).includes('after'))
})

test('a pooler that is disabled is removed when the answer comes, and comes back at the same port', async () => {
  const pooler = await poolerOf()
  expect(await howdah.call('POST', path('/disablePooler'))).toMatchObject({ status: 200 })
  await expect(query('select 1', pooler)).rejects.toThrow('ECONNREFUSED')
  expect((await howdah.call('GET', path())).body).not.toHaveProperty('connection_pooler')
  expect(await howdah.call('POST', path('/enablePooler'))).toMatchObject({ status: 200 })
  expect(await poolerOf()).toEqual(pooler)
})

test('a deleted set is removed, and a deleted service takes its sets along', async () => {
  expect((await howdah.call('DELETE', path(`/replicaSets/${set.id}`))).status).toBe(202)
  await until(async () => (await sets()).length === 0)
  const another = { name: 'another', nodes: 1, cpu_millis: 500, memory_gbs: 2 }
  expect((await howdah.call('POST', path('/replicaSets'), another)).status).toBe(202)
  expect((await howdah.call('DELETE', path())).status).toBe(202)
  await howdah.untilStatus(service.service_id, 'removed')
  expect(orphansOf(howdah.config.data_dir, [])).toEqual([])
})

/** Who owns the service's socket: its lock file names the process and its data directory. */
function primary(): { pid: number; data: string } {
  const nodes = nodesOf(howdah.config.data_dir, service.service_id, service.endpoint.port)
  return {
    pid: nodes.postmaster(nodes.primary()) ?? expect.fail('the primary runs'),
    data: nodes.dataOf(nodes.primary()),
  }
}
