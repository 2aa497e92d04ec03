// What is due of a service that ends by itself, and which ends are taken, as tables.
import { expect, test } from 'vitest'
import type { Problem } from '#contract/problem.ts'
import { expiryStep, parseExpiry } from './expiry-rules.ts'

const now = new Date('2026-03-10T12:00:00Z')
const minutes = (count: number) => new Date(now.getTime() + count * 60_000)

test.each([
  { what: 'never ends', ends: null, told: null, step: undefined },
  { what: 'ends in a day', ends: minutes(1440), told: null, step: undefined },
  { what: 'ends in an hour', ends: minutes(60), told: null, step: 'warn' },
  { what: 'ends in an hour, as was told', ends: minutes(60), told: now, step: undefined },
  { what: 'ends in 59 minutes, as was told', ends: minutes(59), told: minutes(-1), step: undefined },
  { what: 'ends in ten minutes, as was told an hour before', ends: minutes(10), told: minutes(-50), step: 'warn' },
  { what: 'ends in nine minutes, as was told a minute ago', ends: minutes(9), told: minutes(-1), step: undefined },
  { what: 'ends in nine minutes, and the server was down', ends: minutes(9), told: minutes(-40), step: 'warn' },
  { what: 'was to end now', ends: now, told: minutes(-10), step: 'delete' },
  { what: 'was to end yesterday, untold', ends: minutes(-1440), told: null, step: 'delete' },
])('of a service that $what, due is: $step', ({ ends, told, step }) => {
  expect(expiryStep({ expires_at: ends, expiry_told_at: told }, now)).toBe(step)
})

test.each([
  [undefined, null],
  [null, null],
  ['2026-03-10T14:00:00+01:00', '2026-03-10T13:00:00.000Z'],
  ['2036-03-07T12:00:00Z', '2036-03-07T12:00:00.000Z'],
])('%s is taken as %s', (text, taken) => {
  const problems: Problem[] = []
  expect(parseExpiry(text, now, problems)?.toISOString() ?? null).toBe(taken)
  expect(problems).toEqual([])
})

test.each(['2026-03-10T12:00:00Z', '2026-03-10T13:00:00+02:00', '2036-03-08T12:00:00Z'])('%s is refused', (text) => {
  const problems: Problem[] = []
  expect(parseExpiry(text, now, problems)).toBeNull()
  expect(problems).toEqual([
    { path: '/expires_at', message: 'must be a moment in the future, at most 3650 days from now' },
  ])
})
