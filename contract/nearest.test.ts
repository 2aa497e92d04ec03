// Table test of the guess at what a mistyped name was meant to be.
import { expect, test } from 'vitest'
import { nearestOf } from './nearest.ts'

const known = ['name', 'addons', 'cpu_millis', 'memory_gbs', 'replica_count', 'sync_replica_count', 'region_code']

test.each([
  ['nam', 'name'],
  ['nmae', 'name'],
  ['Name', 'name'],
  ['syncReplicaCount', 'sync_replica_count'],
  ['sync_replicas', 'sync_replica_count'],
  ['replica-count', 'replica_count'],
  ['replicas_count', 'replica_count'],
  ['cpu_milis', 'cpu_millis'],
  ['memory_gb', 'memory_gbs'],
  ['region', 'region_code'],
  ['re', undefined],
  ['x', undefined],
  ['', undefined],
  ['title', undefined],
  ['__proto__', undefined],
  ['name'.repeat(1000), undefined],
])('%s is meant to be %s', (name, meant) => {
  expect(nearestOf(name, known)).toBe(meant)
})

test('where no name is known, none is near', () => {
  expect(nearestOf('name', [])).toBeUndefined()
})
