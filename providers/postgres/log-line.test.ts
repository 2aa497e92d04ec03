// Lines taken apart as JSON.parse would do it, whatever stands in them and however they are broken.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { timeAt } from './log-entry.ts'
import { parseHead, parseLine } from './log-line.ts'

const text = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', ' ', '"', '\\', '\n', '\t', '\u0001', 'é', '数', '🐘', '{', '}', ',', ':') }),
  fc.constantFrom('plain', 'select 1', '","message":"other', 'ends in \\', '\ud800'),
)
const maybe = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: undefined, freq: 2 })
const count = fc.nat()

/** In PostgreSQL's own order. */
const logged = fc.record({
  timestamp: fc.constantFrom('2026-11-15 01:07:59.927 UTC', '2026-11-15 01:07:59.927 GMT', 'yesterday'),
  user: maybe(text),
  dbname: maybe(text),
  pid: count,
  remote_host: maybe(text),
  remote_port: maybe(count),
  session_id: maybe(text),
  line_num: count,
  ps: maybe(text),
  session_start: maybe(text),
  vxid: maybe(text),
  txid: count,
  error_severity: fc.constantFrom('LOG', 'ERROR', ''),
  state_code: maybe(fc.constantFrom('23505', '42601')),
  message: maybe(text),
  detail: maybe(text),
  hint: maybe(text),
  internal_query: maybe(text),
  internal_position: maybe(count),
  context: maybe(text),
  statement: maybe(text),
  cursor_position: maybe(count),
  func_name: maybe(text),
  application_name: maybe(text),
  backend_type: maybe(fc.constantFrom('client backend', 'checkpointer')),
  leader_pid: maybe(count),
  query_id: maybe(fc.integer()),
})

test('a line is taken apart as JSON says', () => {
  fc.assert(
    fc.property(logged, (members) => {
      const line = JSON.stringify(members)
      expect(parseLine(line)).toEqual(naive(line))
    }),
    { numRuns: 2_000 },
  )
})

test('a broken line is no entry, unless it is still JSON', () => {
  const piece = fc.constantFrom('', '"', '\\', ',', '}', '{', 'x', '\u0000', '"message":"m",', '"user":"u",', '7')
  fc.assert(
    fc.property(logged, fc.nat(), fc.nat(3), piece, (members, position, removed, inserted) => {
      const whole = JSON.stringify(members)
      const at = position % whole.length
      const line = whole.slice(0, at) + inserted + whole.slice(at + removed)
      expect(parseLine(line)).toEqual(naive(line))
    }),
    { numRuns: 4_000 },
  )
})

test('of a head that ends anywhere after its message has begun, the message is there as far as it goes', () => {
  const line = JSON.stringify({
    timestamp: '2026-11-15 01:07:59.927 UTC',
    error_severity: 'LOG',
    message: 'one "two" \u0001 thrée',
    statement: 'select 1',
  })
  const begin = line.indexOf('"message":"') + '"message":"'.length
  for (let end = begin; end < line.length; end += 1) {
    expect('one "two" \u0001 thrée').toContain(parseHead(line.slice(0, end))?.message)
  }
})

test.each([
  ['2026-11-15 01:07:59.927 UTC', Date.UTC(2026, 10, 15, 1, 7, 59, 927)],
  ['2000-02-29 23:59:59.000 GMT', Date.UTC(2000, 1, 29, 23, 59, 59)],
  ['2026-13-15 01:07:59.927 UTC', undefined],
  ['2026-11-32 01:07:59.927 UTC', undefined],
  ['2026-11-15 24:07:59.927 UTC', undefined],
  ['2026-11-15T01:07:59.927 UTC', undefined],
  ['2026-11-15 01:07:59,927 UTC', undefined],
  ['2026-1:-15 01:07:59.927 UTC', undefined],
  ['2026-11-15 01:07:59.92', undefined],
])('the time of a line that says %s', (timestamp, time_ms) => {
  expect(timeAt(Buffer.from(`..{"timestamp":"${timestamp}`), 2)).toBe(time_ms)
})

function naive(line: string): ReturnType<typeof parseLine> {
  let members: Record<string, unknown>
  try {
    members = JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
  const textOf = (name: string) => (typeof members[name] === 'string' ? members[name] : '')
  const [, date = '', time = ''] = /^(\S{10}) (\S{12}) (?:UTC|GMT)$/.exec(textOf('timestamp')) ?? []
  if (!/^\d{4}-\d\d-\d\d$/.test(date) || !/^\d\d:\d\d:\d\d\.\d{3}$/.test(time)) return undefined
  if (textOf('error_severity') === '' || typeof members['message'] !== 'string') return undefined
  return {
    date,
    time,
    user: textOf('user'),
    dbname: textOf('dbname'),
    application_name: textOf('application_name'),
    pid: typeof members['pid'] === 'number' ? members['pid'] : undefined,
    ps: textOf('ps'),
    severity: textOf('error_severity'),
    state_code: textOf('state_code'),
    message: textOf('message'),
    detail: textOf('detail'),
    hint: textOf('hint'),
    internal_query: textOf('internal_query'),
    context: textOf('context'),
    statement: textOf('statement'),
  }
}
