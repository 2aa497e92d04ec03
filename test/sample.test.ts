// What a sample promises: so many, in order, the same for the same seed.
import { expect, test } from 'vitest'
import { sampleOf } from './sample.ts'

test('a sample has so many of them, in their order, and all where there are no more', () => {
  const things = Array.from({ length: 50 }, (_, at) => at)
  const sample = sampleOf(things, 5)
  expect(sample).toEqual(sampleOf(things, 5))
  expect(sample).toEqual(sample.toSorted((one, other) => one - other))
  expect(new Set(sample).size).toBe(process.env['TEST_ALL'] === undefined ? 5 : 50)
  expect(sampleOf([1, 2], 5)).toEqual([1, 2])
})
