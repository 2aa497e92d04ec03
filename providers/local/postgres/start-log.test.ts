// Table tests of finding, in a server's log, why it did not start.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fatalOfLog, fatalOfOutput, startFailure } from './start-log.ts'

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

test('a reason that the log collector writes after the server has exited is waited for', async () => {
  const log = mkdtempSync(join(tmpdir(), 'howdah-start-log-'))
  onTestFinished(() => rmSync(log, { recursive: true }))
  const start_log = join(log, 'start.log')
  writeFileSync(start_log, 'HINT:  Future log output will appear in directory "/somewhere".\n')
  const found = startFailure({ log, start_log }, Date.parse('2026-11-15T02:00:00Z'))
  const entry = { timestamp: '2026-11-15 02:00:00.500 UTC', error_severity: 'FATAL', message: 'no pg_wal' }
  setImmediate(() => writeFileSync(join(log, 'postgresql.json'), JSON.stringify(entry)))
  expect(await found).toBe('no pg_wal')
})
