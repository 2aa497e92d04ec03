// What a request for a replica set may ask, and what its row means to a provider and to somebody who knows services only.
import { describe, expect, test } from 'vitest'
import type { Problem } from '#contract/problem.ts'
import type { Service } from '#contract/service.ts'
import type { WantedService } from '#providers/provider.ts'
import { replicaSetView, setAsService } from '../service/replica-set-view.ts'
import { parseNodes, parseSetSize, wantedSetOf } from './rules.ts'
import type { ReplicaSetRow } from '../service/replica-sets.ts'

const row: ReplicaSetRow = {
  replica_set_id: 'set0000000',
  service_id: 'service000',
  name: 'readers',
  created: '2026-11-15T10:00:00.000Z',
  environment: 'PROD',
  generation: 3,
  nodes: 2,
  cpu_millis: 500,
  memory_gbs: 2,
  shape_generation: 1,
  pooler: false,
  addresses: [
    { role: 'service', vpc_id: null, host: '127.0.0.1', port: 2000 },
    { role: 'pooler', vpc_id: null, host: '127.0.0.1', port: 2001 },
  ],
  deleted: false,
  state: 'serving',
  settled_generation: 3,
  waiting_for: null,
  failing_seconds: null,
}

// Only what is handed on matters here.
const service = { service_id: 'service000', deleted: false, power: 'on' } as WantedService

test.each([1, 10, '1', '10', '03'])('%j is a number of nodes', (nodes) => {
  const problems: Problem[] = []
  expect(parseNodes(nodes, problems)).toBe(Number(nodes))
  expect(problems).toEqual([])
})

test.each([0, 11, -1, 1.5, '0', '11', '', ' 2', '2 ', '1e1', '0x2', 'two'])('%j is no number of nodes', (nodes) => {
  const problems: Problem[] = []
  parseNodes(nodes, problems)
  expect(problems).toEqual([{ path: '/nodes', message: 'must be 1 to 10' }])
})

test.each([
  [{ cpu_millis: 500, memory_gbs: 2 }],
  [{ cpu_millis: '500', memory_gbs: '2' }],
  [{ cpu_millis: '500', memory_gbs: 2 }],
])('%j is a size', (input) => {
  const problems: Problem[] = []
  expect(parseSetSize(input, problems)).toEqual({ cpu_millis: 500, memory_gbs: 2 })
  expect(problems).toEqual([])
})

test.each([
  [{ cpu_millis: 500, memory_gbs: 4 }],
  [{ cpu_millis: 'shared', memory_gbs: 'shared' }],
  [{ cpu_millis: '', memory_gbs: '' }],
  [{ cpu_millis: '0500', memory_gbs: '2' }],
])('%j is no size, and the answer lists those that exist', (input) => {
  const problems: Problem[] = []
  parseSetSize(input, problems)
  expect(problems).toEqual([{ path: '/cpu_millis', message: expect.stringMatching(/\/memory_gbs; .*500\/2, 1000\/4/) }])
})

const parent = { deleted_at: null, vpc_id: null }

describe('a provider', () => {
  test('is told of the pooler while one is wanted', () => {
    expect(wantedSetOf(row, null, service)).not.toHaveProperty('pooler')
    expect(wantedSetOf({ ...row, pooler: true }, null, service).pooler).toEqual({ host: '127.0.0.1', port: 2001 })
  })

  test('removes a set that is deleted, or whose service is', () => {
    expect(wantedSetOf(row, null, service).deleted).toBe(false)
    expect(wantedSetOf({ ...row, deleted: true }, null, service).deleted).toBe(true)
    expect(wantedSetOf(row, null, { ...service, deleted: true }).deleted).toBe(true)
  })
})

test('in a VPC a set and its pooler are at addresses of their own', () => {
  const addresses: ReplicaSetRow['addresses'] = [
    ...row.addresses,
    { role: 'service', vpc_id: 1000, host: '10.0.0.3', port: 5432 },
    { role: 'pooler', vpc_id: 1000, host: '10.0.0.4', port: 5432 },
  ]
  const inside = { ...row, addresses }
  expect(replicaSetView({ ...inside, pooler: true }, { ...parent, vpc_id: 1000 })).toMatchObject({
    endpoint: { host: '10.0.0.3', port: 5432 },
    connection_pooler: { endpoint: { host: '10.0.0.4', port: 5432 } },
  })
  expect(wantedSetOf({ ...inside, pooler: true }, 1000, service)).toMatchObject({
    home: { host: '127.0.0.1', port: 2000 },
    reach: { host: '10.0.0.3', port: 5432 },
    pooler: { host: '10.0.0.4', port: 5432 },
    vpc_id: '1000',
  })
})

test('a set of a service that is being deleted is deleting', () => {
  expect(replicaSetView(row, parent).status).toBe('active')
  expect(replicaSetView(row, { ...parent, deleted_at: new Date() }).status).toBe('deleting')
})

test('as a service, a set is a standby of its own service at its own endpoint', () => {
  const of = {
    service_id: 'service000',
    project_id: 'project000',
    region_code: 'local',
    status: 'READY',
    resources: [],
  }
  // Only what is taken over matters here.
  expect(setAsService(row, { ...parent, power: 'on' }, of as unknown as Service)).toMatchObject({
    service_id: 'set0000000',
    status: 'READY',
    endpoint: { host: '127.0.0.1', port: 2000 },
    forked_from: { is_standby: true, project_id: 'project000', service_id: 'service000' },
    metadata: { environment: 'PROD' },
  })
})
