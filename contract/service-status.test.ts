// statusOf over the whole product of its inputs: the rules of the decisions page, each stated once.
import { describe, expect, test } from 'vitest'
import {
  type ServiceState,
  type ServiceStatus,
  service_statuses,
  type StatusInput,
  statusOf,
} from './service-status.ts'

const states: ServiceState[] = ['unknown', 'absent', 'stopped', 'serving', 'not_serving']

function* product(): Generator<StatusInput> {
  for (const deleted of [true, false])
    for (const power of ['on', 'off'] as const)
      for (const power_generation of [1, 2, 3])
        for (const shape_generation of [1, 2, 3])
          for (const settled_generation of [0, 1, 2, 3])
            for (const state of states)
              for (const out_of_patience of [true, false])
                yield { deleted, power, power_generation, shape_generation, settled_generation, state, out_of_patience }
}

/** Each rule: a status, and exactly when it is seen. */
const rules: [ServiceStatus, (it: StatusInput) => boolean][] = [
  ['DELETING', (it) => it.deleted],
  ['QUEUED', (it) => !it.deleted && never(it) && !it.out_of_patience && it.state === 'unknown'],
  ['PAUSED', (it) => settledOff(it) && it.state === 'stopped'],
  ['PAUSING', (it) => there(it) && it.power === 'off' && !(settledOff(it) && it.state === 'stopped')],
  ['RESUMING', (it) => wantedOn(it) && there(it) && it.settled_generation < it.power_generation],
  ['READY', (it) => wantedOn(it) && whole(it) && it.state === 'serving'],
]

const never = (it: StatusInput) => it.settled_generation === 0
const there = (it: StatusInput) => !it.deleted && !never(it) && it.state !== 'absent'
const wantedOn = (it: StatusInput) => !it.deleted && !never(it) && it.power === 'on'
const settledOff = (it: StatusInput) =>
  !it.deleted && !never(it) && it.power === 'off' && it.settled_generation >= it.power_generation
const whole = (it: StatusInput) =>
  it.settled_generation >= it.power_generation && it.settled_generation >= it.shape_generation

describe('the status of a service', () => {
  test.each(rules)('is %s exactly when its rule holds', (status, rule) => {
    for (const it of product()) expect({ it, seen: statusOf(it) === status }).toEqual({ it, seen: rule(it) })
  })

  test('is UNSTABLE during creation only after patience has run out', () => {
    for (const it of product()) {
      if (!it.deleted && never(it)) expect(statusOf(it) === 'UNSTABLE').toBe(it.out_of_patience)
    }
  })

  test('is UNSTABLE when everything was made true and it does not serve', () => {
    for (const it of product()) {
      if (wantedOn(it) && whole(it) && it.state !== 'serving') expect(statusOf(it)).toBe('UNSTABLE')
    }
  })

  test('is UNSTABLE when nothing is left of what was made', () => {
    for (const it of product()) {
      if (!it.deleted && !never(it) && it.state === 'absent') expect(statusOf(it)).toBe('UNSTABLE')
    }
  })

  test('is one of the published values, and never one that is not emitted', () => {
    const silent: ServiceStatus[] = ['DELETED', 'UPGRADING', 'OPTIMIZING']
    for (const it of product()) {
      expect(service_statuses).toContain(statusOf(it))
      expect(silent).not.toContain(statusOf(it))
    }
  })
})
