// When a replica set counts as failing, which makes it an error after a while.
import { expect, test } from 'vitest'
import { failingOf } from './reconcile.ts'

test.each([
  { what: 'the first copy under way', settled: 0, state: 'absent', failing: null },
  { what: 'the first copy failed', settled: 0, state: 'absent', failed: true, failing: true },
  { what: 'the first start that hangs', settled: 0, state: 'not_serving', failing: true },
  { what: 'a set that serves', settled: 0, state: 'serving', failing: false },
  {
    what: 'a set that serves while one of its nodes cannot be made',
    settled: 1,
    state: 'serving',
    failed: true,
    failing: false,
  },
  { what: 'a set that does not serve any more', settled: 1, state: 'not_serving', failing: true },
  { what: 'a set that has lost its data', settled: 1, state: 'absent', failing: true },
  { what: 'a set of a paused service', settled: 1, state: 'stopped', power: 'off', failing: false },
] as const)('$what: $failing', ({ settled, state, failing, ...more }) => {
  const { power, failed } = { power: 'on' as const, failed: false, ...more }
  expect(failingOf({ settled_generation: settled }, { power }, { state, failed })).toBe(failing)
})
