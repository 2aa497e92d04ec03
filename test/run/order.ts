// In which order a run takes its files: those that last longest first, so that none of them is left when all others are done. Vitest knows how
// long a file took the last time it ran here; a fresh clone has not run any.
import { join } from 'node:path'
import {
  BaseSequencer,
  type TestSequencer,
  type TestSequencerConstructor,
  type TestSpecification,
  type Vitest,
} from 'vitest/node'

/** More than 30 seconds each on a machine with two cores, the longest first. A file that is not named here comes after them. */
export const longest = [
  'test/console/pages.test.ts',
  'test/security/disk-quota.test.ts',
  'test/fork/every-effect.test.ts',
  'test/provider/every-effect.test.ts',
  'test/ha/failover-killed.test.ts',
  'test/crash/first-start.test.ts',
  'test/fork/strategies.test.ts',
  'test/console/life.test.ts',
  'test/security/sql-escapes.test.ts',
  'test/crash/two-servers.test.ts',
  'test/ha/failover.test.ts',
  'test/ha/set-ha.test.ts',
  'test/security/isolation-starts.test.ts',
  'test/network/kill.test.ts',
  'test/replica-set/setback.test.ts',
  'test/security/role-matrix.test.ts',
  'test/security/isolated-users.test.ts',
] as const

const root = join(import.meta.dirname, '..', '..')
const ranks = new Map<string, number>(longest.map((path, rank) => [join(root, path), rank]))
const rankOf = ({ moduleId }: TestSpecification) => ranks.get(moduleId) ?? longest.length

function newLongestFirst(vitest: Vitest): TestSequencer {
  const usual = new BaseSequencer(vitest)
  return {
    shard: (files) => usual.shard(files),
    sort: async (files) => (await usual.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b)),
  }
}

// Vitest calls it with `new`, which evaluates to the object that a function returns.
export const LongestFirst = newLongestFirst as unknown as TestSequencerConstructor
