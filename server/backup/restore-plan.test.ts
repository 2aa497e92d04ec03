// Which runs bring an installation back, to its newest moment and to an earlier one.
import { expect, test } from 'vitest'
import { planOf, walRunOf } from './restore-plan.ts'
import { gapIn, windowOf } from './restore-list.ts'
import type { Run } from './restic.ts'

const run = (id: string, time: string, ...tags: string[]): Run => ({ id, time: new Date(time), tags, hostname: 'here' })
const taken = (time: string) => `taken-${Date.parse(time)}`

const runs = [
  run('meta 1', '2026-03-01T10:00:00Z', 'meta'),
  run('data 1', '2026-03-01T10:00:10Z', 'data', 'service-a', 'snapshot-s1', taken('2026-03-01T10:00:05Z')),
  run('wal 1', '2026-03-01T10:00:20Z', 'wal'),
  run('data 2', '2026-03-01T12:00:10Z', 'data', 'service-a', 'snapshot-s2', taken('2026-03-01T12:00:05Z')),
  run('wal 2', '2026-03-01T12:00:20Z', 'wal'),
  run('meta 2', '2026-03-01T12:00:30Z', 'meta'),
  run('wal 3', '2026-03-01T12:00:40Z', 'wal'),
]

test('the newest of each, and the WAL to its end', () => {
  expect(planOf(runs, {})).toMatchObject({
    meta: 'meta 2',
    wal: 'wal 3',
    snapshots: { a: [{ snapshot_id: 's2' }, { snapshot_id: 's1' }] },
  })
  expect(planOf(runs, {}).at).toBeUndefined()
})

test('of a moment: what was before it, and the first WAL that leads past it', () => {
  const at = new Date('2026-03-01T11:00:00Z')
  expect(planOf(runs, { at })).toMatchObject({
    meta: 'meta 1',
    wal: 'wal 2',
    snapshots: { a: [{ run: 'data 1', snapshot_id: 's1' }] },
    at: '2026-03-01T11:00:00.000Z',
  })
})

test('of a service that a run is behind with, the next run that is not', () => {
  const at = new Date('2026-03-01T11:00:00Z')
  const behind = runs.map((one) => (one.id === 'wal 2' ? { ...one, tags: [...one.tags, 'behind-a'] } : one))
  expect(walRunOf(behind, at, 'a')?.id).toBe('wal 3')
  expect(walRunOf(behind, at, 'b')?.id).toBe('wal 2')
  expect(walRunOf(behind, undefined, 'a')?.id).toBe('wal 3')
})

test('a moment before the first backup is refused with the first one', () => {
  const at = new Date('2026-03-01T09:00:00Z')
  expect(() => planOf(runs, { at })).toThrow('the first backup in the repository is of 2026-03-01T10:00:00.000Z')
  expect(() => planOf([], {})).toThrow('the repository has no backup yet')
})

test('a gap in the WAL after a snapshot is found, and none where there is none', () => {
  const hex = (number: number) => Math.floor(number).toString(16).toUpperCase().padStart(8, '0')
  const file = (number: number) =>
    [`x/backup/archive/00000001${hex(number / 512)}${hex(number % 512)}`, 8_388_608] as [string, number]
  const start = file(4)[0].slice(-24)
  // More than a function takes as arguments.
  const terabytes = Array.from({ length: 200_000 }, (_, at) => file(4 + at))
  expect(gapIn(start, terabytes)).toBeUndefined()
  expect(gapIn(start, [...terabytes, file(200_005)])).toBe(`200000 files after ${start}`)
  expect(gapIn(start, [file(4), file(5), file(6)])).toBeUndefined()
  expect(gapIn(start, [file(4), file(6)])).toBe(`1 files after ${start}`)
  expect(gapIn(start, [file(5), file(6)])).toBe(`0 files after ${start}`)
})

test('the window of a service ends where its WAL does, and not before it begins', () => {
  const [oldest, first] = ['2026-03-01T09:00:00.000Z', '2026-03-01T10:00:00.000Z']
  const window = { restorable_from: first, restorable_until: '2026-03-01T12:00:40.000Z' }
  expect(windowOf(runs, oldest)).toEqual(window)
  expect(windowOf(runs.slice(0, 1), oldest)).toEqual({ ...window, restorable_until: first })
  expect(windowOf(runs, undefined)).toEqual({ restorable_from: '', restorable_until: '' })
})
