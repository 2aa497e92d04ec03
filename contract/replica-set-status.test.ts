// replicaSetStatusOf over the whole product of its inputs, each rule stated once; and how a set reads as a service.
import { describe, expect, test } from 'vitest'
import {
  failure_patience_seconds,
  type ReplicaSetStatus,
  replica_set_statuses,
  type ReplicaSetStatusInput,
  replicaSetStatusOf,
  statusAsService,
} from './replica-set-status.ts'
import type { ServiceState, ServiceStatus } from './service-status.ts'

function* product(): Generator<ReplicaSetStatusInput> {
  for (const deleted of [true, false])
    for (const shape_generation of [1, 2, 3])
      for (const settled_generation of [0, 1, 2, 3])
        for (const failing_seconds of [null, 0, failure_patience_seconds, failure_patience_seconds + 1, 1e9])
          yield { deleted, shape_generation, settled_generation, failing_seconds }
}

const fails = (it: ReplicaSetStatusInput) => (it.failing_seconds ?? 0) > 120
const well = (it: ReplicaSetStatusInput) => !it.deleted && !fails(it)

/** Each rule: a status, and exactly when it is seen. */
const rules: [ReplicaSetStatus, (it: ReplicaSetStatusInput) => boolean][] = [
  ['deleting', (it) => it.deleted],
  ['error', (it) => !it.deleted && fails(it)],
  ['creating', (it) => well(it) && it.settled_generation === 0],
  ['resizing', (it) => well(it) && it.settled_generation > 0 && it.settled_generation < it.shape_generation],
  ['active', (it) => well(it) && it.settled_generation > 0 && it.settled_generation >= it.shape_generation],
]

describe('the status of a replica set', () => {
  test.each(rules)('is %s exactly when its rule holds', (status, rule) => {
    for (const it of product()) expect({ it, seen: replicaSetStatusOf(it) === status }).toEqual({ it, seen: rule(it) })
  })

  test('has a rule for each published value', () => {
    expect(rules.map(([status]) => status).toSorted()).toEqual([...replica_set_statuses].toSorted())
  })
})

describe('a replica set read as a service', () => {
  const states: ServiceState[] = ['unknown', 'absent', 'stopped', 'serving', 'not_serving']
  const serving: Record<ReplicaSetStatus, ServiceStatus> = {
    creating: 'CONFIGURING',
    active: 'READY',
    resizing: 'CONFIGURING',
    deleting: 'DELETING',
    error: 'UNSTABLE',
  }

  test.each(replica_set_statuses)('that is %s has the status that says the same', (status) => {
    expect(statusAsService(status, 'serving', 'on')).toBe(serving[status])
  })

  test('is PAUSED with its service, unless it is on its way out', () => {
    for (const status of replica_set_statuses)
      for (const state of states)
        expect(statusAsService(status, state, 'off')).toBe(status === 'deleting' ? 'DELETING' : 'PAUSED')
  })

  test('is READY only when it answers', () => {
    for (const status of replica_set_statuses)
      for (const state of states) {
        const ready = statusAsService(status, state, 'on') === 'READY'
        expect(ready).toBe(status === 'active' && state === 'serving')
      }
  })
})
