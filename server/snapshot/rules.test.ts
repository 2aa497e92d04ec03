// When a snapshot is due, which ones go, and which moments can be restored, as a table.
import { expect, test } from 'vitest'
import { expiredSnapshots, lastSnapshot, policyFor, restorableOf, secondsUntilHurried, snapshotIsDue } from './rules.ts'
import type { SnapshotRow } from './store.ts'

const day_ms = 86_400_000
const now = new Date('2026-03-10T12:00:00Z')
const policy = { interval_seconds: 86_400, kept: 2 }

const daysAgo = (days: number) => new Date(now.getTime() - days * day_ms)

/** Taken so many days ago, which is its name too. */
const rowOf = (age_days: number, parts: Partial<SnapshotRow> = {}): SnapshotRow => ({
  snapshot_id: `${age_days}`,
  service_id: 's',
  kind: 'scheduled',
  requested_at: daysAgo(age_days),
  deleted_at: null,
  taken_at: daysAgo(age_days),
  size_bytes: 1,
  in_use: false,
  awaits_fork: false,
  ...parts,
})
const ofNow = (age_days: number, parts: Partial<SnapshotRow> = {}) => rowOf(age_days, { kind: 'now', ...parts })
const untaken = { taken_at: null, size_bytes: null }

type Case = { what: string; rows: SnapshotRow[]; gone: string[] }

test.each<Case>([
  { what: 'the oldest beyond the number kept', rows: [rowOf(0), rowOf(1), rowOf(2), rowOf(3)], gone: ['2', '3'] },
  { what: 'none that is in use', rows: [rowOf(0), rowOf(1), rowOf(2, { in_use: true }), rowOf(3)], gone: ['3'] },
  { what: 'none that goes already', rows: [rowOf(0), rowOf(1), rowOf(2, { deleted_at: now })], gone: [] },
  { what: 'none by hand, nor counts it', rows: [rowOf(0), rowOf(1, { kind: 'manual' }), rowOf(2)], gone: [] },
])('of the scheduled ones goes: $what', ({ rows, gone }) => {
  expect(expiredSnapshots(rows, policy)).toEqual(gone)
})

test('a snapshot of a clock that was ahead by more than the interval does not count', () => {
  const isDue = (...rows: SnapshotRow[]) => snapshotIsDue(rows, { policy, now })
  expect(isDue(rowOf(-0.5))).toBe(false)
  expect(isDue(rowOf(-3))).toBe(true)
  expect(isDue(rowOf(-3), rowOf(0.5))).toBe(false)
})

test('a store whose clock is ahead by minutes makes no hurried schedule take one after the other', () => {
  const hurried = policyFor(policy, { archive_presses: true })
  expect(snapshotIsDue([rowOf(-5 / (24 * 60))], { policy: hurried, now })).toBe(false)
})

test('of those that forks NOW have left, the newest stays until a newer snapshot is complete', () => {
  const expired = (...rows: SnapshotRow[]) => expiredSnapshots(rows, policy)
  expect(expired(ofNow(0.1), ofNow(0.2), rowOf(1))).toEqual(['0.2'])
  expect(expired(rowOf(0.1), ofNow(0.2), rowOf(1))).toEqual(['0.2'])
  expect(expired(ofNow(0.1, untaken), ofNow(0.2), rowOf(1))).toEqual([])
  const under_way = [ofNow(0.1, untaken), ofNow(0.2, untaken), rowOf(1)]
  expect(expired(...under_way)).toEqual(['0.2'])
  expect(expired(ofNow(0.1, untaken), ofNow(0.2, { ...untaken, in_use: true }), rowOf(1))).toEqual([])
  expect(lastSnapshot([rowOf(0.05, { kind: 'manual' }), ...under_way])?.snapshot_id).toBe('0.1')
})

test('of two that forks NOW have left, the later one stays, in whatever order they were requested', () => {
  const [earlier, later] = [new Date(now.getTime() - 60_000), new Date(now.getTime() - 30_000)]
  const rows = [ofNow(0.1, { taken_at: earlier }), ofNow(0.2, { taken_at: later }), rowOf(1)]
  expect(expiredSnapshots(rows, policy)).toEqual(['0.1'])
})

test('the newest complete one stays, however few are kept', () => {
  expect(expiredSnapshots([rowOf(0), rowOf(1), rowOf(2)], { ...policy, kept: 0 })).toEqual(['1', '2'])
})

test.each([
  { what: 'older than the interval', rows: [rowOf(1)], due: true },
  { what: 'younger', rows: [rowOf(0.5), rowOf(2)], due: false },
  { what: 'younger, but no moment can be restored', rows: [rowOf(0.5)], restorable: 'none' as const, due: true },
  { what: 'younger, but the archive presses', rows: [rowOf(0.5)], archive_presses: true, due: true },
  { what: 'under way', rows: [rowOf(1, untaken)], restorable: 'none' as const, due: false },
  { what: 'just taken', rows: [rowOf(30 / 86_400)], restorable: 'none' as const, due: false },
  { what: 'younger, but by hand', rows: [rowOf(0.5, { kind: 'manual' })], due: true },
])('whether a snapshot is due when the newest is $what: $due', ({ rows, due, ...seen }) => {
  expect(snapshotIsDue(rows, { policy: policyFor(policy, seen), now })).toBe(due)
})

test.each([
  { what: 'all is well', rows: [rowOf(2)], seconds: Infinity },
  { what: 'the archive presses', rows: [rowOf(20 / 86_400)], archive_presses: true, seconds: 40 },
  { what: 'no moment can be restored', rows: [rowOf(20 / 86_400)], restorable: 'none' as const, seconds: 40 },
  { what: 'it presses, and one is due', rows: [rowOf(1)], archive_presses: true, seconds: 1 },
  { what: 'it presses, and one is under way', rows: [rowOf(1, untaken)], archive_presses: true, seconds: Infinity },
])('how long the next pass can wait for its snapshot when $what: $seconds s', ({ rows, seconds, ...seen }) => {
  expect(secondsUntilHurried(rows, seen, { policy, now })).toBe(seconds)
})

test('the window of recovery is the one that was observed, without what only snapshots on their way out have', () => {
  const seen = { restorable_from: daysAgo(2), restorable_until: null }
  const going = rowOf(2, { deleted_at: now })
  expect(restorableOf(seen, [rowOf(0), rowOf(2), rowOf(3)], now)).toEqual({ from: daysAgo(2), until: now })
  expect(restorableOf(seen, [rowOf(0), rowOf(1), going], now)).toEqual({ from: daysAgo(1), until: now })
  expect(restorableOf({ ...seen, restorable_until: daysAgo(1) }, [rowOf(2)], now)).toEqual({
    from: daysAgo(2),
    until: daysAgo(1),
  })
  for (const rows of [[going], [rowOf(2, untaken)], []]) expect(restorableOf(seen, rows, now)).toBeUndefined()
  expect(restorableOf({ ...seen, restorable_from: null }, [rowOf(2)], now)).toBeUndefined()
  expect(restorableOf({ ...seen, restorable_until: daysAgo(1) }, [rowOf(0)], now)).toBeUndefined()
})
