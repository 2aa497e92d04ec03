// Which runs are forgotten: by age, by day, and never so that archived WAL gets a gap.
import { expect, test } from 'vitest'
import { type Archived, forgettable } from './retention.ts'
import type { Run } from './restic.ts'

const now = new Date('2026-03-20T12:00:00Z')
const alive = ['a', 'c']
const run = (id: string, time: string, ...tags: string[]): Run => ({ id, time: new Date(time), tags, hostname: 'here' })
const file = (number: number) => `00000001${number.toString(16).toUpperCase().padStart(16, '0')}`
const archivedOf = (rows: Record<string, [first: number, last: number]>): ReadonlyMap<string, Archived> =>
  new Map(Object.entries(rows).map(([id, [first, last]]) => [id, { a: { first: file(first), last: file(last) } }]))

test('metadata: all of two hours, then the last of each day', () => {
  const runs = [
    run('old', '2026-02-01T10:00:00Z', 'meta'),
    run('day 1 early', '2026-03-18T01:00:00Z', 'meta'),
    run('day 1 late', '2026-03-18T23:00:00Z', 'meta'),
    run('today early', '2026-03-20T01:00:00Z', 'meta'),
    run('today', '2026-03-20T11:00:00Z', 'meta'),
    run('now', '2026-03-20T12:00:00Z', 'meta'),
  ]
  expect(forgettable({ runs, archived: new Map(), alive, now })).toEqual(['old', 'day 1 early', 'today early'])
})

test('WAL that the next run of the day still has is thinned; WAL that was pruned meanwhile stays', () => {
  const runs = [
    run('one', '2026-03-18T01:00:00Z', 'wal'),
    run('two', '2026-03-18T02:00:00Z', 'wal'),
    run('three', '2026-03-18T03:00:00Z', 'wal'),
    run('now', '2026-03-20T12:00:00Z', 'wal'),
  ]
  const steady = archivedOf({ one: [1, 5], two: [1, 8], three: [4, 12], now: [10, 20] })
  expect(forgettable({ runs, archived: steady, alive, now })).toEqual(['one'])
  const hasty = archivedOf({ one: [1, 5], two: [6, 8], three: [10, 12], now: [11, 20] })
  expect(forgettable({ runs, archived: hasty, alive, now })).toEqual([])
  // What was in it is not known: it stays until it is too old.
  expect(forgettable({ runs, archived: new Map(), alive, now })).toEqual([])
})

test('the newest snapshot of a service that is alive stays, however old it is and whatever is known of its WAL', () => {
  const runs = [
    run('a old', '2026-01-01T00:00:00Z', 'data', 'service-a'),
    run('a newest', '2026-01-02T00:00:00Z', 'data', 'service-a'),
    run('deleted', '2026-01-02T00:00:00Z', 'data', 'service-b'),
    run('c', '2026-03-19T00:00:00Z', 'data', 'service-c'),
    run('wal', '2026-03-20T12:00:00Z', 'wal'),
  ]
  for (const archived of [archivedOf({ wal: [1, 2] }), new Map()]) {
    expect(forgettable({ runs, archived, alive, now })).toEqual(['a old', 'deleted'])
  }
})
