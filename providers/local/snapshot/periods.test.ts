// Table tests of what can be restored, and of the snapshots that have to stay for it.
import { expect, test } from 'vitest'
import { neededFor, type Period, restorableOf } from './periods.ts'
import type { Snapshot } from './stored.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute))
/** Its name, its minute, and the ways that lead on from it, a letter each. */
type Row = readonly [name: string, minute: number, ways: string]

const snapshotsOf = (rows: readonly Row[]) =>
  rows.map(([snapshot_id, minute, way]): Snapshot => {
    return { snapshot_id, taken_at: at(minute), size_bytes: 0, start_wal_file: way, end_position: 0 }
  })

/** Each way with the minute at which an exchange left it; the last is the present one. */
const periodsOf = (ways: readonly (readonly [way: string, until?: number])[]) =>
  ways.map(([way, until]): Period => ({
    leadsOn: ({ start_wal_file }) => start_wal_file.includes(way),
    ...(until !== undefined && { until: at(until) }),
  }))

test.each<[string, Row[], [string, number?][], number | 'none']>([
  ['nothing without a snapshot', [], [['a']], 'none'],
  [
    'all from the first snapshot on',
    [
      ['s1', 1, 'a'],
      ['s2', 5, 'a'],
    ],
    [['a']],
    1,
  ],
  [
    'what comes after the last that has diverged',
    [
      ['s1', 1, ''],
      ['s2', 5, 'a'],
    ],
    [['a']],
    5,
  ],
  ['nothing from diverged ones alone', [['s1', 1, '']], [['a']], 'none'],
  [
    'the way before an exchange, too',
    [
      ['s1', 1, 'ab'],
      ['s2', 5, 'b'],
    ],
    [['a', 4], ['b']],
    1,
  ],
  [
    'no way before what no snapshot leads to',
    [
      ['s1', 1, 'a'],
      ['s2', 5, 'b'],
    ],
    [['a', 4], ['b']],
    5,
  ],
  ['what comes after an exchange only, where the way before has no snapshot', [['s2', 3, 'b']], [['a', 4], ['b']], 4],
])('%s can be restored', (_what, rows, ways, from) => {
  const expected = from === 'none' ? 'none' : { from: at(from), until: 'now' }
  expect(restorableOf(snapshotsOf(rows), periodsOf(ways))).toEqual(expected)
})

test.each<[string, Row[], string[], string[]]>([
  [
    'only those that are wanted',
    [
      ['s1', 1, 'a'],
      ['s2', 5, 'a'],
    ],
    ['s2'],
    ['s2'],
  ],
  [
    'of a diverged one the last before it',
    [
      ['s1', 1, 'a'],
      ['s2', 3, 'a'],
      ['s3', 5, ''],
    ],
    ['s3'],
    ['s3', 's2'],
  ],
  [
    'of a diverged one without any before it none',
    [
      ['s3', 5, ''],
      ['s4', 6, 'a'],
    ],
    ['s3'],
    ['s3'],
  ],
])('of snapshots stay %s', (_what, rows, wanted, kept) => {
  const lasting = wanted.map((snapshot_id) => ({ snapshot_id }))
  expect([...neededFor(lasting, snapshotsOf(rows), periodsOf([['a']]))]).toEqual(kept)
})

test('where the ways cannot be read, every snapshot stays', () => {
  expect([...neededFor([], snapshotsOf([['s1', 1, 'a']]), undefined)]).toEqual(['s1'])
})
