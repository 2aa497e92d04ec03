// Which part of the time machine’s window is shown: closer and wider looks keep the chosen moment in sight.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lengthIn, reaching, type Span, zoomedIn, zoomedOut } from './zoom.ts'

const whole: Span = { from: 1_000_000, until: 605_800_000 }
const moment = fc.integer({ min: whole.from, max: whole.until })

test('each closer look has the moment in it, lies in the window and is shorter, down to ten seconds', () => {
  fc.assert(
    fc.property(moment, (at) => {
      let shown = whole
      for (let look = 0; look < 12; look += 1) {
        const next = zoomedIn(whole, shown, at)
        expect(next.from).toBeGreaterThanOrEqual(whole.from)
        expect(next.until).toBeLessThanOrEqual(whole.until)
        expect(at).toBeGreaterThanOrEqual(next.from)
        expect(at).toBeLessThanOrEqual(next.until)
        expect(lengthIn(next)).toBeLessThanOrEqual(lengthIn(shown))
        shown = next
      }
      expect(lengthIn(shown)).toBe(10_000)
    }),
  )
})

test('the way back ends with the whole window', () => {
  let shown: Span | undefined = { from: 2_000_000, until: 2_010_000 }
  for (let look = 0; look < 8; look += 1) shown = shown && zoomedOut(whole, shown, 2_005_000)
  expect(shown).toBeUndefined()
})

test('a moment outside of what is shown moves it there, at the same length', () => {
  const shown = { from: 2_000_000, until: 2_010_000 }
  expect(reaching(whole, shown, 2_004_000)).toBe(shown)
  expect(reaching(whole, shown, 3_000_000)).toEqual({ from: 2_995_000, until: 3_005_000 })
  expect(reaching(whole, shown, whole.until)).toEqual({ from: whole.until - 10_000, until: whole.until })
})
