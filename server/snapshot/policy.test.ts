// Which schedules of snapshots are taken, how they are shown, and what they mean, as tables.
import { expect, test } from 'vitest'
import type { Problem } from '#contract/problem.ts'
import { parsePolicy, policyOf, writtenPolicyOf } from './policy.ts'

const usual = { interval_seconds: 86_400, kept: 7 }

test.each([
  { every: '6h', keep: '7d', shown: { every: '6h', keep: '7d' }, means: { interval_seconds: 21_600, kept: 28 } },
  { every: '1m', keep: '90m', shown: { every: '1m', keep: '90m' }, means: { interval_seconds: 60, kept: 90 } },
  { every: '24h', keep: '36h', shown: { every: '1d', keep: '36h' }, means: { interval_seconds: 86_400, kept: 2 } },
  {
    every: '30d',
    keep: '52w',
    shown: { every: '30d', keep: '364d' },
    means: { interval_seconds: 2_592_000, kept: 13 },
  },
])('every $every for $keep is taken', ({ every, keep, shown, means }) => {
  const problems: Problem[] = []
  const own = parsePolicy({ every, keep }, problems)
  expect(problems).toEqual([])
  expect(writtenPolicyOf(own)).toEqual(shown)
  expect(policyOf(own, usual)).toEqual(means)
})

test('neither of the two is the schedule of the installation', () => {
  const own = parsePolicy({}, [])
  expect(writtenPolicyOf(own)).toBeUndefined()
  expect(policyOf(own, usual)).toEqual(usual)
})

test.each([
  { every: '6h', problem: { path: '/keep', message: 'is required with /every' } },
  { keep: '6h', problem: { path: '/every', message: 'is required with /keep' } },
  { every: '31d', keep: '52w', problem: { path: '/every', message: 'must be from 1m to 30d' } },
  { every: '6h', keep: '5h', problem: { path: '/keep', message: 'must be from /every, which is 6h, to 52w' } },
  { every: '6h', keep: '53w', problem: { path: '/keep', message: 'must be from /every, which is 6h, to 52w' } },
  { every: '1m', keep: '1d', problem: { path: '/keep', message: 'must be at most 1000 times /every' } },
])('every $every for $keep is refused', ({ problem, ...written }) => {
  const problems: Problem[] = []
  parsePolicy(written, problems)
  expect(problems).toEqual([problem])
})
