// A few of many: tests that kill processes everywhere do it at a sample in each run, and everywhere with `npm test -- --all`.
// Each run has another seed, which it prints; TEST_SEED gives a run the sample of an earlier one.
import { createHash } from 'node:crypto'

const all = process.env['TEST_ALL']
/** A run that is being set up has given itself one. */
const seed = () => process.env['TEST_SEED'] ?? ''

/** In their order. */
export function sampleOf<T>(things: readonly T[], count: number): T[] {
  if (all !== undefined || things.length <= count) return [...things]
  const chance = (at: number) => createHash('sha256').update(`${seed()}/${things.length}/${at}`).digest('hex')
  const chosen = new Set(
    [...things.keys()].toSorted((one, other) => (chance(one) < chance(other) ? -1 : 1)).slice(0, count),
  )
  return things.filter((_, at) => chosen.has(at))
}

/** How often a thing is repeated that is much the same each time. */
export const countOf = (count: number, few: number): number => (all === undefined ? few : count)

/** Every n-th of them, in n parts of which each run takes one: another one for another seed. */
export function partsOf<T>(things: readonly T[], count: number): { part: number; some: T[] }[] {
  const parts = Array.from({ length: count }, (_, part) => ({
    part,
    some: things.filter((_, at) => at % count === part),
  }))
  return sampleOf(parts, 1)
}

const parts = 6

/** Of so many examples of a property, for fast-check: a part in each run, another one for another seed. */
export function examplesOf(count: number): { numRuns: number; path?: string } {
  if (all !== undefined) return { numRuns: count }
  const some = Math.ceil(count / parts)
  return { numRuns: some, path: String((Number(seed()) % parts) * some) }
}
