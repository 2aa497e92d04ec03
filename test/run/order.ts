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

/** More than 20 seconds each on a machine with two cores, the longest first. A file that is not named here comes after them. */
export const longest = [
  'test/console/console.test.ts',
  'test/security/disk-quota.test.ts',
  'test/backup/troubled.test.ts',
  'test/backup/restore.test.ts',
  'test/fork/disk-full.test.ts',
  'test/docs/commands.test.ts',
  'test/console/life.test.ts',
  'test/backup/upkeep.test.ts',
  'test/crash/every-effect.test.ts',
  'test/fork/strategies.test.ts',
  'test/backup/rewound.test.ts',
  'test/security/isolated-users.test.ts',
  'test/console/pages.test.ts',
  'test/security/disk-reserve.test.ts',
  'test/fork/setback.test.ts',
  'test/security/isolation-starts.test.ts',
  'test/backup/ordinary-user.test.ts',
  'test/oauth/two-servers.test.ts',
  'test/backup/key.test.ts',
  'test/ha/failover.test.ts',
  'test/fork/pitr.test.ts',
  'test/replica-set/setback.test.ts',
  'test/cli/commands.test.ts',
  'test/security/planted-entries.test.ts',
  'test/security/role-matrix.test.ts',
  'test/ha/in-place.test.ts',
  'test/ha/unstartable.test.ts',
  'test/security/sql-lockout.test.ts',
  'test/replica-set/parent.test.ts',
  'test/crash/store-away.test.ts',
  'test/backup/elsewhere.test.ts',
  'test/security/leftovers.test.ts',
  'test/provider/promises.test.ts',
  'test/security/sql-escapes.test.ts',
  'test/http/deletion.test.ts',
  'test/local/replica-life.test.ts',
  'test/security/sql-extensions.test.ts',
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
