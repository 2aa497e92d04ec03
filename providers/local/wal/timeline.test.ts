// Which WAL files lead to the newest timeline, as tables of hand-made lists: with timelines that were left, and their remains.
import { expect, test } from 'vitest'
import { fileAt, fileIsOnPath, firstGap, isOnPath, onPath, pathOf, type Path } from './timeline.ts'
import { segmentNameOf, segmentNumberOf } from '../../postgres/lsn.ts'
import { timelineOf, type Segment } from './wal.ts'

const bytes = 16 * 1024 * 1024

/** `2/5` is the fifth segment on timeline 2. */
const nameOf = (short: string): string => {
  const [timeline = 0, number = 0] = short.split('/').map(Number)
  return segmentNameOf(timeline, number, bytes)
}
const shortOf = (name: string) => `${timelineOf(name)}/${segmentNumberOf(name, bytes)}`
const segments = (...shorts: string[]): Segment[] =>
  shorts
    .map((short) => ({ name: nameOf(short), path: '', number: Number(short.split('/')[1]), bytes }))
    .toSorted((a, b) => a.number - b.number)

const one: Path = [{ timeline: 1, from: 0 }]
/** Timeline 1 was left in the middle of its fifth segment, timeline 2 exactly at the end of its eighth. */
const history = `1\t0/5800000\tno recovery target specified\n\n2\t0/9000000\tno recovery target specified\n`
const three = pathOf(3, history)

test('a history tells where each timeline was left', () => {
  expect(three).toEqual([
    { timeline: 1, from: 0 },
    { timeline: 2, from: 0x580_0000 },
    { timeline: 3, from: 0x900_0000 },
  ])
  expect(pathOf(2, '# a comment\n1\tA/FF000028\tbefore 2026-11-15 12:00:00+00\n').at(-1)?.from).toBe(0xa_ff00_0028)
  // Timeline 2 was tried and given up: nothing leads over it.
  expect(pathOf(3, '1\t0/5800000\tx\n').map(({ timeline }) => timeline)).toEqual([1, 3])
})

test.each<[string, Path, string[], string[]]>([
  ['one timeline', one, ['1/4', '1/5'], ['1/4', '1/5']],
  ['the newer of two at the switch', three, ['1/4', '1/5', '2/5', '2/6'], ['1/4', '2/5', '2/6']],
  ['nothing of a left timeline beyond the switch', three, ['1/5', '1/6', '1/7', '2/5', '2/6'], ['2/5', '2/6']],
  ['at a switch between two segments the new one begins', three, ['2/8', '2/9', '3/9', '3/10'], ['2/8', '3/9', '3/10']],
  ['nothing of a timeline that is no ancestor', one, ['1/4', '2/4', '2/5'], ['1/4']],
])('%s', (_, path, there, counting) => {
  expect(onPath(segments(...there), path).map(({ name }) => shortOf(name))).toEqual(counting)
})

test.each<[Path, string[], string | undefined]>([
  [one, ['1/2', '1/3', '1/4'], undefined],
  [one, ['1/1', '1/2'], undefined],
  [one, ['1/2', '1/4'], '1/3'],
  [one, ['1/3', '1/4'], '1/2'],
  [one, [], '1/2'],
  [three, ['1/2', '1/3', '1/4', '2/5', '2/6'], undefined],
  // The remains of timeline 1 do not fill the gap on timeline 2, and what lies beyond its end is not missed.
  [three, ['1/2', '1/3', '1/4', '1/5', '1/6', '1/7', '2/5', '2/7'], '2/6'],
  [three, ['1/2', '1/3', '1/4', '1/5', '1/6', '1/9', '2/5'], undefined],
  [three, ['1/2', '1/3', '1/4', '1/5', '2/6'], '2/5'],
  [three, ['1/2', '1/4', '2/5'], '1/3'],
  [three, ['1/2', '1/3', '1/4', '2/5', '2/6', '2/7', '2/8', '3/10'], '3/9'],
])('on %j of %j what is missing from the second on is %s', (path, there, missing) => {
  const gap = firstGap(segments(...there), nameOf('1/2'), path)
  expect(gap && shortOf(gap)).toBe(missing)
})

test('a gap is found among more files than one log holds', () => {
  const all = Array.from({ length: 300 }, (_, at) => `1/${at}`).filter((short) => short !== '1/256')
  expect(firstGap(segments(...all), nameOf('1/2'), one)).toBe('000000010000000100000000')
})

test.each<[number, number, boolean]>([
  [1, 0x400_0000, true],
  [1, 0x580_0000, true],
  [1, 0x580_0001, false],
  [2, 0x600_0000, true],
  [2, 0x900_0001, false],
  [3, 0xff00_0000, true],
  [4, 0, false],
])('what stands on timeline %i up to %i is part of the way: %s', (timeline, position, part) => {
  expect(isOnPath(three, timeline, position)).toBe(part)
})

test.each([
  ['1/4', true],
  ['1/5', false],
  ['2/5', true],
  ['2/9', false],
  ['3/9', true],
])('the file %s is part of the way as a whole: %s', (short, part) => {
  expect(fileIsOnPath(three, nameOf(short), bytes)).toBe(part)
})

test('the file of a position is that of the timeline which counts there', () => {
  const positions = [0x4ff_ffff, 0x500_0000, 0x8ff_ffff, 0x900_0000]
  expect(positions.map((position) => shortOf(fileAt(three, position, bytes)))).toEqual(['1/4', '2/5', '2/8', '3/9'])
})
