// What a sample promises: so many, in order, the same for the same seed.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { examplesOf, partsOf, sampleOf } from './sample.ts'

test('a sample has so many of them, in their order, and all where there are no more', () => {
  const things = Array.from({ length: 50 }, (_, at) => at)
  const sample = sampleOf(things, 5)
  expect(sample).toEqual(sampleOf(things, 5))
  expect(sample).toEqual(sample.toSorted((one, other) => one - other))
  expect(new Set(sample).size).toBe(process.env['TEST_ALL'] === undefined ? 5 : 50)
  expect(sampleOf([1, 2], 5)).toEqual([1, 2])
})

test('a part has every n-th of them, and a run has one part', () => {
  const found = partsOf([0, 1, 2, 3, 4, 5, 6], 3)
  expect(found).toHaveLength(process.env['TEST_ALL'] === undefined ? 1 : 3)
  for (const { part, some } of found) expect(some).toEqual([part, part + 3, part + 6].filter((at) => at < 7))
})

test('the examples of a property are a part of those of all runs', () => {
  const seen: number[] = []
  const noted = fc.property(fc.nat(), (example) => void seen.push(example))
  fc.assert(noted, { seed: 7, numRuns: 42 })
  const all = seen.splice(0)
  fc.assert(noted, { seed: 7, ...examplesOf(42) })
  expect(all).toEqual(expect.arrayContaining(seen))
  expect(seen).toHaveLength(process.env['TEST_ALL'] === undefined ? 7 : 42)
})
