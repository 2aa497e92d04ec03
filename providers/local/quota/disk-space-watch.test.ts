// When services refuse writes for lack of space, as a table of what is free at each poll.
import { expect, test } from 'vitest'
import { type DiskSpaceReading, diskSpaceStateOf } from './disk-space-watch.ts'

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

test('the search for growing services needs space that was taken', () => {
  expect(after(191, 191).search).toBe(false)
  expect(after(191, 189).search).toBe(true)
  expect(after(191, 189, 188.5).search).toBe(false)
  expect(after(1000, 990).search).toBe(false)
  expect(after(550, 500, 450).search).toBe(true)
})
