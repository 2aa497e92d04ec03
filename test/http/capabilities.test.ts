// What an installation says it can do, on the region under test and on several at once.
import { expect, test } from 'vitest'
import { backupFacts } from '#cli/backup-facts.ts'
import type { Capabilities } from '#contract/capabilities.ts'
import { shared } from '#test/shared.ts'
import { newCall } from '#test/call.ts'
import { startInRegion } from './region.ts'

const regions = [
  { region_code: 'one', provider: 'memory' },
  { region_code: 'two', provider: 'memory' },
] as const
const howdah = shared(() => startInRegion({ config: { regions } }))

const capabilities = async () => (await howdah.call('GET', '/capabilities')).body as unknown as Capabilities // the contract's own answer

test('every caller reads the facts of all regions, and none without a credential does', async () => {
  expect((await newCall(howdah.server.api_url, '')('GET', '/capabilities')).status).toBe(401)
  const { login, regions, limits, retention } = await capabilities()
  expect(login).toBe('password')
  expect(regions.map(({ code, is_default }) => ({ code, is_default }))).toEqual([
    { code: 'one', is_default: true },
    { code: 'two', is_default: false },
  ])
  expect(regions[0]).toMatchObject({ shared: { offered: true }, features: { pooler: { offered: true } } })
  expect(regions[0]?.sizes[0]).toEqual({ cpu_millis: 500, memory_gbs: 2, offered: true })
  expect(limits.services_per_project).toBeGreaterThan(0)
  expect(retention.events).toEqual({ seconds: 365 * 86_400, kept: 5000, removed_seconds: 35 * 86_400 })
})

test('a service is made in the region that it names, and in the default one without', async () => {
  const there = await howdah.createService({ name: 'there', region_code: 'two' })
  const here = await howdah.createService({ name: 'here' })
  const regionOf = async (id: string) => (await howdah.call('GET', `${howdah.services}/${id}`)).body.region_code
  expect([await regionOf(there.service_id), await regionOf(here.service_id)]).toEqual(['two', 'one'])
})

test('a VPC without a region is made in the default one', async () => {
  const vpcs = `/projects/${howdah.project_id}/vpcs`
  const made = await howdah.call('POST', vpcs, { name: 'v', cidr: '10.64.0.0/24' })
  expect(made).toMatchObject({ status: 201, body: { region_code: 'one' } })
})

test('a replica set has one node of the size of its service unless it says otherwise', async () => {
  const service = await howdah.createService({ name: 'large', cpu_millis: '1000', memory_gbs: '4' })
  const made = await howdah.call('POST', `${howdah.services}/${service.service_id}/replicaSets`, { name: 'readers' })
  expect(made).toMatchObject({ status: 202, body: { nodes: 1, cpu_millis: 1000, memory_gbs: 4 } })
})

test('howdah doctor counts no service as unproven whose region has no restore drills', async () => {
  expect((await howdah.call('POST', howdah.services, { name: 'undrilled' })).status).toBe(202)
  expect(await backupFacts(howdah.config)).toEqual([])
})
