// The history of metrics in a real store: written once a bucket by whichever server, rolled up, and bounded by age.
import { shared } from '#test/shared.ts'
import { beforeEach, expect, test } from 'vitest'
import type { MetricFunction } from '#contract/metric.ts'
import { openMemoryProvider } from '#providers/memory/memory.ts'
import { insertSamples, listLatest, listPoints, removeExpired, rollUp } from '#server/metric/store.ts'
import { startSampler } from '#server/metric/sampler.ts'
import { type Tier, tiers } from '#server/metric/tier.ts'
import { newLog } from '#server/log.ts'
import { until } from '#test/until.ts'
import { openTestDb } from './test-store.ts'

const db = shared(openTestDb)

beforeEach(async () => {
  await db.query('truncate service_metrics')
})

const counted = async () =>
  await db.query('select service_id, bucket_seconds, connections from service_metrics order by 1, 2, time')

test('two servers that measure the same moment write it once', async () => {
  const sample = (connections: number) => [
    { service_id: 'a', metrics: { connections } },
    { service_id: 'b', metrics: {} },
  ]
  // Within one transaction the moment stands still.
  await db.transaction(async (tx) => {
    await insertSamples(tx, sample(1), tiers[0])
    await insertSamples(tx, sample(2), tiers[0])
  })
  expect(await counted()).toEqual([
    { service_id: 'a', bucket_seconds: 10, connections: 1 },
    { service_id: 'b', bucket_seconds: 10, connections: null },
  ])
  expect(await listLatest(db, ['a', 'c'], tiers[0])).toMatchObject([{ service_id: 'a', connections: 1 }])
})

test('fine buckets become the average of a coarse one, however often that is done', async () => {
  await db.query(
    `insert into service_metrics (service_id, bucket_seconds, time, connections)
     select 'a', 10, date_bin('1min', now(), 'epoch') - interval '1min' + n * interval '10 s', n
     from generate_series(0, 5) as n`,
  )
  for (let times = 0; times < 3; times += 1) await rollUp(db, tiers[0], tiers[1])
  const minutes = (await counted()).filter((row) => 'bucket_seconds' in row && row.bucket_seconds === 60)
  expect(minutes).toEqual([{ service_id: 'a', bucket_seconds: 60, connections: 2.5 }])
})

test('the least and the greatest outlive every average', async () => {
  const minute = `date_bin('1min', now(), 'epoch') - interval '1min'`
  await db.query(
    `insert into service_metrics (service_id, bucket_seconds, time, connections)
     select 'a', 10, ${minute} + n * interval '10 s', case n when 1 then 0 when 4 then 100 else 50 end
     from generate_series(0, 5) as n
     union all select 'made before', 60, ${minute}, 40`,
  )
  await rollUp(db, tiers[0], tiers[1])
  await rollUp(db, tiers[1], tiers[2])
  const [row] = await db.query<{ least: Date }>(`select min(time) as least from service_metrics`)
  const from_ms = row?.least.getTime() ?? 0
  const seen = async (service_id: string, tier: Tier) => {
    const times = { tier, from_ms, to_ms: from_ms + 1_800_000 }
    const valuesBy = async (fn: MetricFunction) =>
      (await listPoints(db, service_id, 'connections', { ...times, fn })).map(({ value }) => value)
    return await Promise.all([valuesBy('MIN'), valuesBy('AVG'), valuesBy('MAX')])
  }
  for (const tier of [tiers[1], tiers[2]]) {
    expect(await seen('a', tier)).toEqual([[0], [50], [100]])
    expect(await seen('made before', tier)).toEqual([[40], [40], [40]])
  }
})

test('a series is read in the order of time, from one tier', async () => {
  await db.query(
    `insert into service_metrics (service_id, bucket_seconds, time, connections)
     select 'a', tier, date_bin('15min', now(), 'epoch') - n * interval '15min', n
     from unnest(array[10, 60, 900]) as tier, generate_series(0, 3) as n`,
  )
  const [row] = await db.query<{ quarter: Date }>(`select max(time) as quarter from service_metrics`)
  const quarter_ms = row?.quarter.getTime() ?? 0
  const from_to = { from_ms: quarter_ms - 1_800_000, to_ms: quarter_ms + 1 }
  const points = await listPoints(db, 'a', 'connections', { tier: tiers[2], fn: 'AVG', ...from_to })
  expect(points.map(({ value }) => value)).toEqual([2, 1, 0])
})

test('what is older than its tier keeps goes', async () => {
  await db.query(
    `insert into service_metrics (service_id, bucket_seconds, time)
     select 'a', tier, now() - age from (values
       (10, interval '59 min'), (10, interval '61 min'), (60, interval '23 h'), (60, interval '25 h'),
       (900, interval '29 days'), (900, interval '31 days')) as rows (tier, age)`,
  )
  for (const tier of tiers) await removeExpired(db, tier)
  expect((await counted()).map((row) => 'bucket_seconds' in row && row.bucket_seconds)).toEqual([10, 60, 900])
})

test('a value that no column takes is left out, and the others of that moment are kept', async () => {
  await db.query(`insert into projects (id, name) values ('project001', 'p')`)
  await db.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment,
       password_verifier, state)
     select id, 'project001', id, 'here', 'POSTGRES', 'DEV', '', 'serving' from unnest(array['lying00000', 'honest0000']) as id`,
  )
  const metrics = async () =>
    new Map([
      [
        'lying00000',
        { connections: 1e300, replication_lag_bytes: 1e308, cache_hit_ratio: 1e-300, disk_usage_bytes: 7 },
      ],
      ['honest0000', { connections: 2 }],
    ])
  const of_memory = { identity: 'here', delay_ms: 0, host: '127.0.0.1', ports: { first: 1, last: 2 } }
  const provider = { ...openMemoryProvider(of_memory), metrics }
  const sampler = startSampler({ db, log: newLog('silent'), providers: new Map([['here', provider]]) })
  try {
    const latest = async () => await listLatest(db, ['lying00000', 'honest0000'], tiers[0])
    const rows = await until(async () => ((await latest()).length === 2 ? await latest() : undefined))
    const none = { connections: null, replication_lag_bytes: null, cache_hit_ratio: null }
    expect(new Map(rows.map((row) => [row.service_id, row]))).toMatchObject(
      new Map([
        ['lying00000', { ...none, disk_usage_bytes: 7 }],
        ['honest0000', { connections: 2 }],
      ]),
    )
  } finally {
    await sampler.stop()
  }
})

test('what another region’s server measured is shown by this one', async () => {
  await db.query(`insert into projects (id, name) values ('project000', 'p')`)
  await db.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment,
       password_verifier, state)
     values ('service000', 'project000', 's', 'elsewhere', 'POSTGRES', 'DEV', '', 'serving')`,
  )
  const sampler = startSampler({ db, log: newLog('silent'), providers: new Map() })
  try {
    const sample = await until(async () => {
      await insertSamples(db, [{ service_id: 'service000', metrics: { connections: 3 } }], tiers[0])
      return sampler.latest('service000')
    })
    expect(sample).toMatchObject({ project_id: 'project000', metrics: { connections: 3 } })
  } finally {
    await sampler.stop()
  }
})
