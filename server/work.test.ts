// The pause after a failure, as a table. The queue itself is tested against a real store in test/store/.
import { expect, test } from 'vitest'
import { pauseSeconds } from './work.ts'

test.each([
  [1, 0, 1],
  [2, 0, 2],
  [3, 0, 4],
  [9, 0, 256],
  [10, 0, 300],
  [1000, 0, 300],
  [3, 1, 2],
  [1000, 1, 150],
])('after %i failures with jitter %f the pause is %f s', (attempts, random, seconds) => {
  expect(pauseSeconds('backoff', attempts, random)).toBe(seconds)
})

test('a look that asked for a time gets that time', () => {
  expect(pauseSeconds({ in_seconds: 7 }, 5, 0.5)).toBe(7)
})
