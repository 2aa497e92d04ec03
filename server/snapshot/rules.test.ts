// When a snapshot is due and which ones go, as a table: also after a failover that left some of them behind.
import { expect, test } from 'vitest'
import { expiredSnapshots, restorableOf, snapshotIsDue, sourceSnapshot, waitsForFork } from './rules.ts'
import type { SnapshotRow } from './store.ts'

const day_ms = 86_400_000
const now = new Date('2026-03-10T12:00:00Z')
const policy = { interval_seconds: 86_400, kept: 2 }

/** Taken so many days ago, which is its name too. */
const rowOf = (age_days: number, kind: SnapshotRow['kind'] = 'scheduled', left_behind = false): SnapshotRow => {
  const at = new Date(now.getTime() - age_days * day_ms)
  return {
    snapshot_id: `${age_days}`,
    service_id: 's',
    kind,
    requested_at: at,
    deleted_at: null,
    taken_at: at,
    size_bytes: 1,
    left_behind,
  }
}

type Case = { what: string; rows: number[]; left_behind: string[]; in_use: string[]; gone: string[] }

test.each<Case>([
  { what: 'the oldest beyond the number kept', rows: [0, 1, 2, 3], left_behind: [], in_use: [], gone: ['2', '3'] },
  { what: 'none that is in use', rows: [0, 1, 2, 3], left_behind: [], in_use: ['2'], gone: ['3'] },
  { what: 'none for one that was left behind', rows: [0, 1, 2], left_behind: ['1'], in_use: [], gone: [] },
  {
    what: 'one left behind, when it lies before all that are kept',
    rows: [0, 1, 2],
    left_behind: ['2'],
    in_use: [],
    gone: ['2'],
  },
  {
    what: 'none, when all were left behind',
    rows: [0, 1, 2, 3],
    left_behind: ['0', '1', '2', '3'],
    in_use: [],
    gone: [],
  },
] satisfies { what: string; rows: number[]; left_behind: string[]; in_use: string[]; gone: string[] }[])(
  'of the scheduled ones goes: $what',
  ({ rows, left_behind, in_use, gone }) => {
    expect(
      expiredSnapshots(
        rows.map((age) => rowOf(age, 'scheduled', left_behind.includes(`${age}`))),
        { in_use, policy },
      ),
    ).toEqual(gone)
  },
)

test('one by hand neither goes nor counts, and the private one of a fork goes when the fork is made', () => {
  const rows = [rowOf(0), rowOf(1, 'manual'), rowOf(2), rowOf(3, 'fork'), rowOf(4, 'fork')]
  expect(expiredSnapshots(rows, { in_use: ['4'], policy })).toEqual(['3'])
})

test('of those that forks NOW have left, the newest stays until a newer snapshot is complete', () => {
  const untaken = (row: SnapshotRow): SnapshotRow => ({ ...row, taken_at: null, size_bytes: null })
  const none = { in_use: [], policy }
  expect(expiredSnapshots([rowOf(0.1, 'now'), rowOf(0.2, 'now'), rowOf(1)], none)).toEqual(['0.2'])
  expect(expiredSnapshots([rowOf(0.1), rowOf(0.2, 'now'), rowOf(1)], none)).toEqual(['0.2'])
  expect(expiredSnapshots([rowOf(0.1, 'scheduled', true), rowOf(0.2, 'now'), rowOf(1)], none)).toEqual([])
  expect(expiredSnapshots([untaken(rowOf(0.1, 'now')), rowOf(0.2, 'now'), rowOf(1)], none)).toEqual([])
  const under_way = [untaken(rowOf(0.1, 'now')), untaken(rowOf(0.2, 'now')), rowOf(1)]
  expect(expiredSnapshots(under_way, none)).toEqual(['0.2'])
  expect(expiredSnapshots(under_way, { ...none, in_use: ['0.2'] })).toEqual([])
  expect(sourceSnapshot([rowOf(0.05, 'manual'), ...under_way], 'LAST_SNAPSHOT', undefined)?.snapshot_id).toBe('0.1')
})

test('what a fork NOW leaves waits for that fork and for earlier ones, not for later ones', () => {
  const left = { ...rowOf(0.2, 'now'), taken_at: null }
  const fork = (age_days: number) => ({ ...rowOf(age_days, 'fork'), taken_at: null })
  expect(waitsForFork(left, [left, fork(0.2)])).toBe(true)
  expect(waitsForFork(left, [left, fork(0.3)])).toBe(true)
  expect(waitsForFork(left, [left, fork(0.1), { ...fork(0.3), deleted_at: now }])).toBe(false)
  expect(waitsForFork(rowOf(0.1, 'manual'), [fork(0.3)])).toBe(false)
})

test('the newest complete one that leads somewhere stays, however few are kept', () => {
  const rows = [rowOf(0, 'scheduled', true), rowOf(1), rowOf(2)]
  const none = { ...policy, kept: 0 }
  expect(expiredSnapshots(rows, { in_use: [], policy: none })).toEqual(['0', '2'])
})

test.each([
  { what: 'older than the interval', rows: [rowOf(1)], due: true },
  { what: 'younger', rows: [rowOf(0.5), rowOf(2)], due: false },
  { what: 'younger, but left behind', rows: [rowOf(0.5, 'scheduled', true), rowOf(2)], due: true },
  { what: 'younger, but by hand', rows: [rowOf(0.5, 'manual')], due: true },
])('whether a snapshot is due when the newest is $what: $due', ({ rows, due }) => {
  expect(snapshotIsDue(rows, { policy, now })).toBe(due)
})

test('the window of recovery, and the snapshot that a moment in it stands on, pass over those left behind', () => {
  const rows = [rowOf(0), rowOf(1, 'scheduled', true), rowOf(2), rowOf(3, 'scheduled', true)]
  const daysAgo = (days: number) => new Date(now.getTime() - days * day_ms)
  expect(restorableOf(rows, now)).toEqual({ from: daysAgo(2), until: now })
  expect(sourceSnapshot(rows, 'PITR', daysAgo(0.5))?.snapshot_id).toBe('2')
  expect(restorableOf([rowOf(1, 'scheduled', true)], now)).toBeUndefined()
})
