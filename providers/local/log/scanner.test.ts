// The scanner finds what a plain search finds, wherever it lies, for signs of rare and of common letters.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newScanner } from './scanner.ts'
import { exactSign, newSearch } from './search.ts'

const scanner = newScanner(1_000)

/** Mostly dots, so that long stretches have nothing. */
const texts = fc.array(
  fc.oneof({ weight: 5, arbitrary: fc.constant('.') }, fc.constantFrom(...'zZjJ-aAnNlL'.split(''))),
  {
    maxLength: 900,
  },
)
const terms = fc
  .array(fc.constantFrom(...'zj-anl'.split('')), { minLength: 1, maxLength: 5 })
  .map((some) => some.join(''))

test.each([
  ['in any case', (term: string) => newSearch([term]).signs[0], (text: string) => text.toLowerCase()],
  ['in its own case', exactSign, (text: string) => text],
] as const)('a sign is found %s', (_, signOf, folded) => {
  fc.assert(
    fc.property(texts, terms, fc.nat(100), fc.nat(900), (some, term, from, length) => {
      const text = some.join('')
      // What is left from before lies beyond the end.
      scanner.bytes.fill(term)
      scanner.bytes.write(text, 0, 'latin1')
      const to = Math.min(text.length, from + length)
      const sign = signOf(term)
      // Some terms have none, such as what is part of [masked].
      fc.pre(sign !== undefined)
      const at = folded(text.slice(from, to)).indexOf(Buffer.from(sign.values).toString())
      expect(scanner.find(from, to, sign)).toBe(at < 0 ? -1 : from + at)
    }),
    { numRuns: 3_000 },
  )
})
