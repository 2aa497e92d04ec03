// What to wait for after each request, and when the wait is over.
import { expect, test } from 'vitest'
import { api } from './api.ts'
import { followedId, followedSnapshotId, isAsWanted, isAtRest } from './wait.ts'

const path = { project_id: 'p', service_id: 's', replica_set_id: 'r' }

test.each([
  ['createService', { service_id: 'new' }, 'new'],
  ['forkService', { service_id: 'fork' }, 'fork'],
  ['attachToVpc', { message: 'soon' }, 's'],
  ['createReplicaSet', { id: 'set' }, 'set'],
  ['resizeReplicaSet', { message: 'soon' }, 'r'],
  ['deleteReplicaSet', undefined, 'r'],
  ['renameService', { service_id: 's' }, undefined],
] as const)('after %s with the answer %j it is %s', (name, answer, id) => {
  expect(followedId(api[name], path, answer)).toBe(id)
})

test('after a snapshot is taken or deleted it is the snapshot and no service', () => {
  const { replica_set_id: _, ...service } = path
  const of_snapshot = { ...service, snapshot_id: 'x' }
  expect(followedId(api.takeSnapshot, service, { id: 'x' })).toBeUndefined()
  expect(followedSnapshotId(api.takeSnapshot, service, { id: 'x' })).toBe('x')
  expect(followedId(api.deleteSnapshot, of_snapshot, undefined)).toBeUndefined()
  expect(followedSnapshotId(api.deleteSnapshot, of_snapshot, undefined)).toBe('x')
  expect(followedSnapshotId(api.deleteService, service, undefined)).toBeUndefined()
})

test('after a delete of a service it is the service', () => {
  expect(followedId(api.deleteService, { project_id: 'p', service_id: 's' }, undefined)).toBe('s')
})

test.each([
  ['stopService', 'PAUSING', false, true],
  ['stopService', 'PAUSED', true, true],
  ['startService', 'UNSTABLE', true, false],
  ['createService', undefined, true, false],
  ['deleteService', 'DELETING', false, false],
  ['deleteService', 'READY', false, false],
  ['deleteService', undefined, true, true],
  ['getService', 'CONFIGURING', true, true],
  ['takeSnapshot', 'taking', false, true],
  ['takeSnapshot', 'complete', true, true],
  ['takeSnapshot', undefined, true, false],
  ['deleteSnapshot', 'deleting', false, false],
  ['deleteSnapshot', undefined, true, true],
] as const)('%s and %s: at rest %s, as wanted %s', (name, status, at_rest, as_wanted) => {
  const answer = status && { status }
  expect(isAtRest(api[name], answer)).toBe(at_rest)
  expect(isAsWanted(api[name], answer)).toBe(as_wanted)
})
