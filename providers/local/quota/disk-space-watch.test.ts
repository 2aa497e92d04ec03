// When services refuse writes for lack of space, as a table of what is free at each poll.
import { expect, test } from 'vitest'
import { until } from '#test/until.ts'
import type { Node } from '../host/layout.ts'
import { isOver, newListeners, type DiskSpaceReading, diskSpaceStateOf } from './disk-space-watch.ts'

const mib = 1024 ** 2

/** Polls a tenth of a second apart, in MB that are free. */
function after(...free_mb: number[]): DiskSpaceReading {
  let state: DiskSpaceReading | undefined
  for (const [at, free] of free_mb.entries()) {
    state = diskSpaceStateOf(state, { free: free * mib, at_ms: 1_000_000 + at * 100 }, false)
  }
  if (!state) throw new Error('there was no poll')
  return state
}

const slowly = (first: number, last: number) => Array.from({ length: first - last + 1 }, (_, at) => first - at)
const long = (mb: number) => Array.from({ length: 25 }, () => mb)

test.each([
  ['with plenty', [5000], false],
  ['with enough', [193, 193], false],
  ['with too little', [191], true],
  ['when it would soon be too little', [340, 320, 300], true],
  ['not for a single step', [340, 320], false],
  ['not when it fills slowly', slowly(230, 220), false],
  ['until there is clearly more', [191, ...long(210)], true],
  ['no more after that', [191, ...long(225)], false],
  ['for a while at least', [191, 225], true],
])('writes are refused: %s', (_, free_mb, expected) => {
  expect(after(...free_mb).low_since_ms !== undefined).toBe(expected)
})

test('a service that grows is shut when it does so after writes were refused, and close to the reserve', () => {
  expect(after(191, 185, 180, 175).may_shut).toBe(false)
  expect(after(191, ...slowly(185, 165)).may_shut).toBe(false)
  expect(after(191, ...slowly(185, 160)).may_shut).toBe(true)
  expect(after(250, 150).may_shut).toBe(false)
})

test('it is opened with enough space above the reserve, although writes are still refused', () => {
  expect(after(150, ...long(191)).may_open).toBe(false)
  const reading = after(150, ...long(200))
  expect([reading.may_open, reading.low_since_ms !== undefined]).toEqual([true, true])
})

test('the reserve alone is left', () => {
  expect(after(200, 149).wall_since_ms).toBe(undefined)
  expect(after(200, 147, 140).wall_since_ms).toBe(1_000_100)
  expect(after(200, 147, 149).wall_since_ms).toBe(undefined)
})

type AtWall = { at_ms: number; searching?: boolean; told_at_ms?: number }

test.each<[string, AtWall, boolean]>([
  ['at the wall for a moment', { at_ms: 900 }, false],
  ['at the wall for a second, and nothing was told', { at_ms: 1_001 }, true],
  ['while the search goes on', { at_ms: 5_000, searching: true }, false],
  ['while a service is being shut', { at_ms: 5_000, told_at_ms: 5_000 }, false],
  ['a moment after it was', { at_ms: 5_900, told_at_ms: 5_000 }, false],
  ['a second after it was', { at_ms: 6_001, told_at_ms: 5_000 }, true],
  ['what was told before the wall does not count', { at_ms: 900, told_at_ms: -5_000 }, false],
  ['ten seconds at most, whatever the search does', { at_ms: 10_001, searching: true }, true],
  ['ten seconds at most, whatever is being shut', { at_ms: 10_001, told_at_ms: 10_001 }, true],
])('the reserve is given free: %s', (_, { at_ms, searching = false, told_at_ms = -Infinity }, expected) => {
  expect(isOver({ wall_since_ms: 0, searching, told_at_ms }, at_ms)).toBe(expected)
})

test('whoever is told is done when all that is done about it is over, however that ends', async () => {
  const { tell, toldAtMs, onChange } = newListeners()
  const now_ms = performance.now() + 1_000_000
  expect(toldAtMs(now_ms)).toBe(-Infinity)
  const shutting = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  let told = 0
  onChange(() => shutting[told++]?.promise)
  const node = {} as Node // which one it is does not matter to those who only wait
  tell([node, node])
  shutting[0].resolve()
  await shutting[0].promise
  expect(toldAtMs(now_ms)).toBe(now_ms)
  shutting[1].reject(new Error('it cannot be shut'))
  await until(() => toldAtMs(now_ms) < now_ms)
  expect(toldAtMs(now_ms)).toBeGreaterThan(0)
})

test('the search for growing services needs space that was taken', () => {
  expect(after(191, 191).search).toBe(false)
  expect(after(191, 189).search).toBe(true)
  expect(after(191, 189, 188.5).search).toBe(false)
  expect(after(1000, 990).search).toBe(false)
  expect(after(550, 500, 450).search).toBe(true)
})
