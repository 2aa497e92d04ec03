// Lines of bars, and numbers with their units.
import { expect, test } from 'vitest'
import { amountOf, sparkline } from './metrics.ts'

test('the largest value is the highest bar, 0 the lowest, and a gap stays a gap', () => {
  expect(sparkline([0, 1, null, 2, 4])).toBe('▁▃ ▅█')
  expect(sparkline([0, 0])).toBe('▁▁')
  expect(sparkline([])).toBe('')
})

test.each([
  [212_000_000, 'bytes', '212 MB'],
  [0, 'bytes', '0 B'],
  [1_500, 'bytes', '1.50 KB'],
  [0.987, 'ratio', '0.99'],
  [35, 'millicores', '35'],
])('%s %s is %s', (value, unit, text) => {
  expect(amountOf(value, unit)).toBe(text)
})
