// Moments and durations as people write them.
import { expect, test } from 'vitest'
import { UsageError } from '../command.ts'
import { parseDuration } from '#contract/duration.ts'
import { parseMoment } from './moment.ts'

const now = new Date('2026-11-15T12:00:00.000Z')

test.each([
  ['15m ago', '2026-11-15T11:45:00.000Z'],
  ['15m', '2026-11-15T11:45:00.000Z'],
  ['in 7d', '2026-11-22T12:00:00.000Z'],
  ['1h30m ago', '2026-11-15T10:30:00.000Z'],
  ['  2w   ago ', '2026-11-01T12:00:00.000Z'],
  ['now', '2026-11-15T12:00:00.000Z'],
  ['2026-11-15T12:00:00Z', '2026-11-15T12:00:00Z'],
  ['2028-02-29T12:00:00Z', '2028-02-29T12:00:00Z'],
  ['2026-11-15T12:00:00.123456+02:00', '2026-11-15T12:00:00.123456+02:00'],
  ['2026-11-15 12:00Z', '2026-11-15T12:00:00.000Z'],
  ['2026-11-15T12:00+02:00', '2026-11-15T10:00:00.000Z'],
])('%j is %s', (text, moment) => {
  expect(parseMoment(text, now)).toBe(moment)
})

test('a time of day is that of the machine', () => {
  const at = (day: number, hour: number, minute = 0) => {
    const date = new Date(now)
    date.setDate(date.getDate() + day)
    date.setHours(hour, minute, 0, 0)
    return date.toISOString()
  }
  expect(parseMoment('yesterday 14:00', now)).toBe(at(-1, 14))
  expect(parseMoment('today 9:30', now)).toBe(at(0, 9, 30))
  expect(parseMoment('tomorrow', now)).toBe(at(1, 0))
  expect(parseMoment('2026-11-15', now)).toBe(new Date('2026-11-15T00:00').toISOString())
})

test('a duration leads into the future where that is meant', () => {
  expect(parseMoment('7d', now, 'in')).toBe('2026-11-22T12:00:00.000Z')
  expect(parseMoment('7d ago', now, 'in')).toBe('2026-11-08T12:00:00.000Z')
})

test.each([
  '',
  'soon',
  '15',
  '15x ago',
  'in 5m ago',
  '2026-13-01',
  '2026-02-29',
  '2026-11-31 12:00',
  '2026-11-31T12:00:00Z',
  '2026-11-15T25:00:00Z',
  'yesterday noon',
  'yesterday 25:00',
  'today 9:60',
])('%j is no moment', (text) => {
  expect(() => parseMoment(text, now)).toThrow(UsageError)
})

test('what is no moment is told by moments of the way that is meant', () => {
  expect(() => parseMoment('5', now, 'in')).toThrow('write 2h, tomorrow 14:00,')
  expect(() => parseMoment('5', now)).toThrow('write 15m ago, yesterday 14:00,')
})

test.each([
  ['90s', 90_000],
  ['1h30m', 5_400_000],
  ['2d', 172_800_000],
  ['10', undefined],
  ['-1s', undefined],
  ['1h 30m', undefined],
])('the duration %j is %s ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms)
})
