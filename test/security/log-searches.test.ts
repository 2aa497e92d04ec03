// Searches through logs are bounded for each project: one caller with very many at once takes them from no other project.
import { appendFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import type { Service } from '#contract/service.ts'
import { type Call, newCall } from '#test/call.ts'
import { openCallers } from '#test/http/callers.ts'
import { type ReadyService, startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'

const searches = 80
/** So many that a search is not over before the others have come. */
const log_bytes = 96 * 1024 * 1024

const installation = shared(startInstallation)
const callers = shared(() => openCallers(installation))
let service: ReadyService

beforeAll(async () => {
  service = await installation.createService({ cpu_millis: 'shared' })
  const folder = join(installation.config.data_dir, 'local', 'services', service.service_id, 'log')
  const [file = ''] = (await readdir(folder)).filter((name) => name.endsWith('.json')).toReversed()
  const time = new Date().toISOString().replace('T', ' ').replace('Z', ' UTC')
  const line = `{"timestamp":"${time}","error_severity":"LOG","message":"one of very many entries of the same kind"}\n`
  await appendFile(join(folder, file), line.repeat(Math.ceil(log_bytes / line.length)))
})

const logs = (call: Call, of: { project_id: string; service_id: string }, query: string) =>
  call<{ logs: string[]; code?: string }>('GET', `/projects/${of.project_id}/services/${of.service_id}/logs${query}`)

test('of many searches at once a few are made, some wait, and the rest is told to come back', async () => {
  const { project_id, call } = installation
  const mine = { project_id, service_id: service.service_id }
  const rare = '?search=zebra-quagga'
  const flood = Promise.all(Array.from({ length: searches }, () => logs(call, mine, rare)))

  // Meanwhile: the newest entries of the same service, and a search of another project.
  expect((await logs(call, mine, '')).status).toBe(200)
  const other_project = await callers.newProject()
  const other_call = newCall(
    installation.server.api_url,
    (await callers.newToken('owner', { project_id: other_project })).token,
  )
  const made = await other_call<Service>('POST', `/projects/${other_project}/services`, {
    name: 'another',
    cpu_millis: 'shared',
  })
  const other = { project_id: other_project, service_id: made.body.service_id }
  expect((await logs(other_call, other, rare)).status).toBe(200)

  const answers = await flood
  const made_searches = answers.filter(({ status }) => status === 200)
  const refused = answers.filter(({ status }) => status === 429)
  expect(made_searches.length + refused.length).toBe(searches)
  expect(refused.length).toBeGreaterThan(0)
  for (const { body, headers } of refused) {
    expect(body.code).toBe('RATE_LIMITED')
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  }
  expect(made_searches.every(({ body }) => body.logs.length === 0)).toBe(true)
  // And when they are over, there is a place again.
  await until(async () => (await logs(call, mine, rare)).status === 200)
})

test('what reads far back without a search is bounded with it', async () => {
  const { project_id, call } = installation
  const mine = { project_id, service_id: service.service_id }
  for (const query of ['?severities=PANIC', '?page=19']) {
    const answers = await Promise.all(Array.from({ length: searches }, () => logs(call, mine, query)))
    expect(answers.some(({ status }) => status === 429)).toBe(true)
    expect(answers.every(({ status }) => status === 200 || status === 429)).toBe(true)
  }
})
