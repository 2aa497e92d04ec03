// Metrics on a real installation: on the service, over time, and for Prometheus.
import { beforeAll, describe, expect, test } from 'vitest'
import type { Capabilities } from '#contract/capabilities.ts'
import { metric_names, metric_series } from '#contract/metric.ts'
import { loginTo } from '#test/database.ts'
import type { ReadyService } from '#test/installation.ts'
import { scrape } from '#test/metrics-scrape.ts'
import { objectionsTo, why_no_promtool } from '#test/promtool.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { startWithDatabases } from './region.ts'

type Series = { labels: { role: string }; data: { time: string; value: number | null }[] }[]

const howdah = shared(() => startWithDatabases({ sample_interval_ms: 500 }))
let service: ReadyService

beforeAll(async () => {
  service = await howdah.createService({ cpu_millis: 'shared' })
})

const path = (verb = '') => `${howdah.services}/${service.service_id}${verb}`
const metricsOf = async () => (await howdah.call('GET', path())).body.metrics
const series = async (body: object) => await howdah.call<Series>('POST', path('/metrics/series'), body)
const around_now = () => ({
  from: new Date(Date.now() - 600_000).toISOString(),
  to: new Date(Date.now() + 60_000).toISOString(),
})

test('a running service shows what it uses, and a busy one more', async () => {
  const idle = await until(async () => {
    const metrics = await metricsOf()
    return metrics?.milli_cpu !== undefined && metrics
  })
  expect(idle.memory_mb).toBeGreaterThan(3)
  expect(idle.storage_mb).toBeGreaterThan(20)
  expect(idle.milli_cpu).toBeGreaterThanOrEqual(0)
  const client = await loginTo(howdah.server.api_url, service, service.initial_password)
  const busy = client.query('select count(*) from generate_series(1, 50000000) as n')
  const ended = busy.then(() => true).catch(() => true)
  try {
    await until(async () => ((await metricsOf())?.milli_cpu ?? 0) > 100)
  } finally {
    await howdah.call('POST', path('/stop'))
    await ended
    await client.end().catch(() => undefined)
  }
  const listed = await howdah.call<{ service_id: string }[]>('GET', howdah.services)
  expect(listed.body.map(({ service_id }) => service_id)).toEqual([service.service_id])
})

test('a stopped service shows nothing', async () => {
  const { body } = await howdah.untilStatus(service.service_id, 'PAUSED')
  expect(body).not.toHaveProperty('metrics')
  await howdah.call('POST', path('/start'))
  await howdah.untilStatus(service.service_id, 'READY')
  await until(metricsOf)
})

const of_role = (value: string) => ({ key: 'role', value })

describe('series', () => {
  test('all are named, and described among the capabilities', async () => {
    const { status, body } = await howdah.call<string[]>('GET', path('/metrics/available-series'))
    expect(status).toBe(200)
    expect(body).toEqual(metric_names)
    const { metrics } = (await howdah.call<Capabilities>('GET', '/capabilities')).body
    expect(metrics.map(({ name }) => name)).toEqual(metric_names)
    expect(metrics[0]).toEqual({
      name: 'cpu_usage_millicores',
      unit: 'millicores',
      description: expect.any(String),
      labels: ['role'],
      functions: expect.arrayContaining(['AVG', 'P99']),
    })
  })

  test.each(['memory_usage_bytes', 'disk_usage_bytes', 'connections'])('%s has a value now', async (name) => {
    const found = await until(async () => {
      const { body } = await series({ name, ...around_now(), bucket_seconds: 10 })
      return body[0]?.data.some(({ value }) => value !== null) && body[0]
    })
    expect(found.labels).toEqual({ role: 'primary' })
    const times = found.data.map(({ time }) => Date.parse(time))
    expect(times.every((time, at) => at === 0 || time - (times[at - 1] ?? 0) === 10_000)).toBe(true)
    expect(times.length).toBeGreaterThanOrEqual(66)
    expect(times.length).toBeLessThanOrEqual(67)
  })

  test('every function and the filter are understood', async () => {
    for (const name of metric_names) {
      for (const fn of metric_series[name].functions.flatMap((one) => [one, one.toLowerCase()])) {
        expect((await series({ name, ...around_now(), fn })).status, `${fn} of ${name}`).toBe(200)
      }
    }
    const asked = { name: 'memory_usage_bytes', ...around_now() }
    expect((await series({ ...asked, filters: [of_role('primary')] })).body).toHaveLength(1)
    expect((await series({ ...asked, filters: [of_role('replica')] })).body).toEqual([])
    expect((await series({ ...asked, filters: [of_role('primary'), of_role('replica')] })).body).toEqual([])
    expect((await series({ ...asked, filters: [] })).body).toHaveLength(1)
    const lag = { name: 'replication_lag_bytes', ...around_now() }
    expect((await series(lag)).body).toMatchObject([{ labels: { role: 'replica' } }])
    expect((await series({ ...lag, filters: [of_role('primary')] })).body).toEqual([])
  })

  test.each([
    [{ name: 'mood' }, '/name'],
    [{ from: 'yesterday' }, '/from'],
    [{ from: '2026-11-15T10:00:00Z', to: '2026-11-15T10:00:00Z' }, '/to'],
    [{ bucket_seconds: 0 }, '/bucket_seconds'],
    [{ from: '2026-10-20T10:00:00Z', bucket_seconds: 10 }, '/bucket_seconds'],
    [{ fn: 'median' }, '/fn'],
    [{ fn: 'RATE' }, '/fn'],
    [{ name: 'cache_hit_ratio', fn: 'sum' }, '/fn'],
    [{ filters: { role: 'primary' } }, '/filters'],
    [{ filters: [{ key: 'mood', value: 'good' }] }, '/filters/0/key'],
  ])('%j is refused', async (wrong, where) => {
    const { status, body } = await howdah.call('POST', path('/metrics/series'), {
      name: 'connections',
      ...around_now(),
      ...wrong,
    })
    expect([status, body.code]).toEqual([400, 'INVALID_REQUEST'])
    expect(body.details).toContain(where)
  })

  test('an unknown service has none', async () => {
    const other = `${howdah.services}/nosuchid00/metrics`
    expect((await howdah.call('GET', `${other}/available-series`)).status).toBe(404)
    expect((await howdah.call('POST', `${other}/series`, { name: 'connections', ...around_now() })).status).toBe(404)
  })
})

describe('/metrics', () => {
  test('tells of requests, passes, the backlog and every running service', async () => {
    const { status, type, text } = await until(async () => {
      const answer = await scrape(howdah)
      return answer.text.includes('howdah_service_cpu_cores') && answer
    })
    expect(status).toBe(200)
    expect(type).toBe('text/plain; version=0.0.4; charset=utf-8')
    const labels = `{service_id="${service.service_id}",project_id="${howdah.project_id}",role="primary"}`
    expect(text).toContain(`howdah_service_memory_bytes${labels} `)
    expect(text).toContain('howdah_work_due{kind="service"} ')
    expect(text).toMatch(/howdah_reconcile_duration_seconds_count\{kind="service",outcome="done"\} [1-9]/)
    expect(text).toMatch(
      /howdah_http_request_duration_seconds_bucket\{method="GET",route="\/public\/api\/v1\/projects\/:project_id\/services\/:service_id",status="2xx",le="\+Inf"\} \d+/,
    )
    for (const line of text.trimEnd().split('\n')) {
      expect(line).toMatch(/^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [\d.e+-]+)$/)
    }
  })

  test.skipIf(why_no_promtool)(`Prometheus has nothing to object${why_no_promtool}`, async () => {
    expect(objectionsTo((await scrape(howdah)).text)).toBe('')
  })
})
