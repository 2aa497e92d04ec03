// What a request for logs means.
import { expect, test } from 'vitest'
import type { Problem } from '#contract/problem.ts'
import { millisecondsAround, parseLogRequest } from './rules.ts'

test.each([
  ['2026-11-15T10:00:00Z', 0, 0],
  ['2026-11-15t10:00:00.5z', 500, 500],
  ['2026-11-15T10:00:00.123456789Z', 123, 124],
  ['2026-11-15T10:00:00.123000000Z', 123, 123],
  ['2026-11-15T12:30:00.001+02:30', 1, 1],
  ['2026-11-15T01:00:00.0009-09:00', 0, 1],
])('%s', (text, floor_ms, ceiling_ms) => {
  const base = Date.UTC(2026, 10, 15, 10)
  expect(millisecondsAround(text)).toEqual({ floor_ms: base + floor_ms, ceiling_ms: base + ceiling_ms })
})

test('a page above 0 without a cursor is the old mode, in which most filters do not apply', () => {
  const problems: Problem[] = []
  const { query, by_cursor } = parseLogRequest(
    { page: 3, search: ['x'], severities: ['ERROR'], since: '2026-11-15T10:00:00Z', until: '2026-11-15T11:00:00Z' },
    problems,
  )
  expect(problems).toEqual([])
  expect(by_cursor).toBe(false)
  expect(query).toMatchObject({ skip: 1500, search: [], severities: [], until_ms: Date.UTC(2026, 10, 15, 11) })
  expect(query.since_ms).toBeUndefined()
})

test('severities become PostgreSQL’s own words', () => {
  const { query } = parseLogRequest({ severities: ['error', 'Debug3', 'DEBUG', 'log'] }, [])
  expect(query.severities).toEqual(['ERROR', 'DEBUG', 'LOG'])
})
