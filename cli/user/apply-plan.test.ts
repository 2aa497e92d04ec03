// What a file asks for, what there is, and the plan that follows.
import { expect, test } from 'vitest'
import type { Service } from '#contract/service.ts'
import { exampleOf } from '#contract/example.ts'
import { api } from '#contract/api.ts'
import { parseWanted, planOf } from './apply-plan.ts'

// The example of the schema is an answer of getService.
const example = exampleOf(api.getService.output) as Service
const service = (changes: Partial<Service>): Service => ({
  ...example,
  ha_replicas: { replica_count: 0, sync_replica_count: 0 },
  metadata: { environment: 'DEV' },
  expires_at: '2030-01-31T12:00:00.000Z',
  resources: [{ id: 'x', spec: { cpu_millis: 500, memory_gbs: 2, max_connections: 100, volume_type: 'local' } }],
  ...changes,
})
const kept = {
  id: 'bbbbbbbbbb',
  name: 'kept',
  nodes: 2,
  cpu_millis: 500,
  memory_gbs: 2,
  metadata: { environment: 'DEV' as const },
  status: 'active' as const,
  endpoint: { host: '127.0.0.1', port: 20_001 },
}
const shop = service({ name: 'shop', service_id: 'aaaaaaaaaa', read_replica_sets: [kept] })
const { connection_pooler: _, ...unpooled } = shop
const vpc = { name: 'office', cidr: '10.65.0.0/24', region_code: 'local' }
const linesOf = (wanted: unknown, there: readonly Service[], is_pruned = false) =>
  planOf(parseWanted(wanted), there, [vpc], is_pruned).map(({ line }) => line)

test.each([
  ['what is missing is made', { services: [{ name: 'new' }] }, ['+ service new']],
  ['what is so already needs nothing', { services: [{ name: 'shop', cpu_millis: 500, environment_tag: 'DEV' }] }, []],
  ['what is left out stays', { services: [{ name: 'shop' }] }, []],
  [
    'changes are told one by one',
    { services: [{ name: 'shop', cpu_millis: '1000', environment_tag: 'PROD', replica_count: 1, pooler: true }] },
    [
      '~ service shop: 500 → 1000 milli-cores, which restarts it',
      '~ service shop: DEV → PROD',
      '~ service shop: 1 replicas, 0 of them synchronous',
      '~ service shop: connection pooler on',
    ],
  ],
  [
    'an end that the file moves is set',
    { services: [{ name: 'shop', expires_at: '2030-02-01T00:00:00Z' }] },
    ['~ service shop: it expires at 2030-02-01T00:00:00Z'],
  ],
  [
    'an end in another spelling is the same',
    { services: [{ name: 'shop', expires_at: '2030-01-31T13:00:00+01:00' }] },
    [],
  ],
  [
    'what cannot be changed may be named as it is',
    {
      services: [{ name: 'shop', region_code: example.region_code }],
      vpcs: [{ name: 'office', cidr: '10.65.0.0/24' }],
    },
    [],
  ],
  [
    'replica sets come after their service, a new one too',
    {
      services: [
        { name: 'new', pooler: true, replica_sets: [{ name: 'readers', nodes: 2, cpu_millis: 500, pooler: true }] },
        {
          name: 'shop',
          replica_sets: [
            { name: 'kept', cpu_millis: 1000 },
            { name: 'more', cpu_millis: 500 },
          ],
        },
      ],
    },
    [
      '+ service new',
      '~ service new: connection pooler on',
      '+ replica set readers of new',
      '~ replica set readers of new: connection pooler on',
      '~ replica set kept of shop: 500 → 1000 milli-cores, which restarts its nodes',
      '+ replica set more of shop',
    ],
  ],
  [
    'VPCs come first',
    { services: [{ name: 'new' }], vpcs: [{ name: 'home', cidr: '10.64.0.0/24' }] },
    ['+ VPC home 10.64.0.0/24', '+ service new'],
  ],
])('%s', (_, wanted, lines) => {
  expect(linesOf(wanted, [unpooled])).toEqual(lines)
})

test('what the file does not name is deleted with --prune only', () => {
  expect(linesOf({ services: [] }, [shop])).toEqual([])
  expect(linesOf({ services: [] }, [shop], true)).toEqual(['- service shop (aaaaaaaaaa, DEV) with all its data'])
  const without = { services: [{ name: 'shop', replica_sets: [] }] }
  expect(linesOf(without, [shop])).toEqual([])
  expect(linesOf(without, [shop], true)).toEqual(['- replica set kept of shop'])
  expect(linesOf({ services: [{ name: 'shop' }] }, [shop], true)).toEqual([])
})

test.each([
  [{ services: [{ name: 'x', replicas_count: 1 }] }, 'did you mean replica_count?'],
  [{ services: [{}] }, 'services[0]: name is missing'],
  [{ services: [{ name: 'x' }, { name: 'x' }] }, '"x" is there twice'],
  [[], 'the file must be an object'],
  [{ services: [{ name: 'shop', replica_sets: [{ name: 'kept', node: 1 }] }] }, 'did you mean nodes?'],
  [{ services: [{ name: 'shop', replica_sets: [{ name: 'kept', nodes: 1 }] }] }, 'it has 2 nodes'],
  [{ services: [{ name: 'shop', replica_sets: [{ name: 'more' }] }] }, 'cpu_millis is missing'],
  [{ services: [{ name: 'shop', region_code: 'moon' }] }, 'which cannot be changed'],
  [{ vpcs: [{ name: 'office', cidr: '10.66.0.0/24' }] }, 'VPC office: it has 10.65.0.0/24, which cannot be changed'],
  [{ vpcs: [{ name: 'office', cidr: '10.65.0.0/24', region_code: 'moon' }] }, 'it is in region local'],
  [{ services: [{ name: 'shop', cpu_millis: 3 }] }, 'no such size'],
  [{ services: [{ name: 'shop', cpu_millis: 'shared' }] }, 'no such size'],
])('%j is refused: %s', (wanted, message) => {
  expect(() => linesOf(wanted, [shop])).toThrow(message)
})

test('a service that grows out of the shared size is told so', () => {
  const shared = service({
    name: 'small',
    resources: [{ id: 'x', spec: { max_connections: 50, volume_type: 'local' } }],
  })
  expect(linesOf({ services: [{ name: 'small', cpu_millis: 500 }] }, [shared])).toEqual([
    '~ service small: shared → 500 milli-cores, which restarts it',
  ])
})

test('two services of one name cannot be told apart by it', () => {
  expect(() => linesOf({ services: [{ name: 'shop' }] }, [shop, shop])).toThrow('names are keys here')
})
