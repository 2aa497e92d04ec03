// The names of WAL files as tables.
import { expect, test } from 'vitest'
import { walPositionOf, segmentNameOf, segmentNumberOf, timelineOf } from './wal.ts'

const bytes = 16 * 1024 * 1024

test.each([
  [1, 0x28n, '000000010000000000000000'],
  [1, 0x2000028n, '000000010000000000000002'],
  [3, 0x1_ff000000n, '0000000300000001000000FF'],
  [0x1f, 0x2_00000000n, '0000001F0000000200000000'],
])('on timeline %i the position %i is in %s', (timeline, position, name) => {
  expect(segmentNameOf(timeline, position, bytes)).toBe(name)
  expect(segmentNumberOf(name, bytes)).toBe(Number(position / BigInt(bytes)))
  expect(timelineOf(name)).toBe(timeline)
})

test('the position does not depend on the timeline, and orders the files', () => {
  expect(walPositionOf('000000010000000000000002')).toBe(walPositionOf('000000090000000000000002'))
  expect(walPositionOf('0000000100000000000000FF') < walPositionOf('000000010000000100000000')).toBe(true)
})
