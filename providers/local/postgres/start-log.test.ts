// Table tests of finding, in a server's log, why it did not start.
import { expect, test } from 'vitest'
import { fatalOfLog, fatalOfOutput } from './start-log.ts'

test.each([
  ['', undefined],
  ['2026-11-15 LOG:  a\n2026-11-15 FATAL:  first\n2026-11-15 FATAL:  last\n2026-11-15 LOG:  b\n', 'last'],
  [
    'postgres: error while loading shared libraries: libicu.so\n',
    'postgres: error while loading shared libraries: libicu.so',
  ],
])('of the output %j the reason is %j', (text, reason) => {
  expect(fatalOfOutput(text)).toBe(reason)
})

test('of a log only a FATAL entry of this start is the reason', () => {
  const entry = (timestamp: string, error_severity: string, message: string) =>
    JSON.stringify({ timestamp, error_severity, message })
  const log = [
    '"cut off at the start of the tail"}',
    entry('2026-11-15 01:00:00.000 UTC', 'FATAL', 'the last time'),
    entry('2026-11-15 02:00:00.500 UTC', 'FATAL', 'this time'),
    entry('2026-11-15 02:00:01.000 UTC', 'LOG', 'shutting down'),
    '',
  ].join('\n')
  expect(fatalOfLog(log, Date.parse('2026-11-15T02:00:00Z'))).toBe('this time')
  expect(fatalOfLog(log, Date.parse('2026-11-15T03:00:00Z'))).toBeUndefined()
})
