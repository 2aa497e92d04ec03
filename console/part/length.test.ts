// Lengths of time in words.
import { expect, test } from 'vitest'
import { greatestPartOf, lengthOf } from './length.ts'

const hour_ms = 3_600_000

test.each([
  { ms: 51 * hour_ms, greatest: '2 d', both: '2 d 3 h' },
  { ms: 24 * hour_ms, greatest: '1 d', both: '1 d' },
  { ms: 59_999, greatest: '59 s', both: '59 s' },
  { ms: 999, greatest: '0 s', both: '0 s' },
  { ms: -598_000, greatest: '0 s', both: '0 s' },
  { ms: -51 * hour_ms, greatest: '0 s', both: '0 s' },
])('$ms ms are $both', ({ ms, greatest, both }) => {
  expect([greatestPartOf(ms), lengthOf(ms)]).toEqual([greatest, both])
})
