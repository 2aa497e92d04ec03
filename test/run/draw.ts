// Which files a run takes. Some stage one fault at length: a disk that fills up, a repository that is away for a day, a server that is killed
// again and again. Of these a run takes a quarter, with another seed other ones; a run that names its files, and `npm test -- --all`, take all.
import type { Reporter } from 'vitest/node'
import { sampleOf } from '../sample.ts'

export const long_faults = [
  'test/backup/beside-every-effect.test.ts',
  'test/backup/data-lost.test.ts',
  'test/backup/dead-locks.test.ts',
  'test/backup/drill-killed.test.ts',
  'test/backup/elsewhere.test.ts',
  'test/backup/growing-wal.test.ts',
  'test/backup/ordinary-user.test.ts',
  'test/backup/owner.test.ts',
  'test/backup/restore-end.test.ts',
  'test/backup/rewound.test.ts',
  'test/backup/troubled.test.ts',
  'test/backup/upkeep.test.ts',
  'test/crash/concurrent.test.ts',
  'test/crash/disk-full.test.ts',
  'test/crash/first-start.test.ts',
  'test/crash/random-kill.test.ts',
  'test/crash/store-away.test.ts',
  'test/crash/two-servers.test.ts',
  'test/crash/vpc.test.ts',
  'test/fork/archive.test.ts',
  'test/fork/disk-full.test.ts',
  'test/fork/load.test.ts',
  'test/fork/parent-killed.test.ts',
  'test/fork/power-loss.test.ts',
  'test/fork/setback.test.ts',
  'test/ha/failover-killed.test.ts',
  'test/ha/unstartable.test.ts',
  'test/network/belongings.test.ts',
  'test/network/kill.test.ts',
  'test/oauth/two-servers.test.ts',
  'test/provider/standby-setback.test.ts',
  'test/replica-set/many.test.ts',
  'test/replica-set/setback.test.ts',
  'test/security/disk-quota.test.ts',
  'test/security/disk-reserve.test.ts',
] as const

/** words: of the command, after the program's name. */
export function leftOut([, ...words]: readonly string[]): string[] {
  const named = words.some((word) => !word.startsWith('-'))
  const taken = named ? long_faults : sampleOf(long_faults, Math.ceil(long_faults.length / 4))
  return long_faults.filter((file) => !taken.includes(file))
}

/** The last lines of a run say what it did not take. */
export const drawn = (left_out: readonly string[]): Reporter => ({
  onTestRunEnd() {
    if (left_out.length === 0) return
    const by = `drawn by TEST_SEED=${process.env['TEST_SEED']}; npm test -- --all takes them`
    console.log(`\n${left_out.length} files of long faults were left out (${by}):\n  ${left_out.join('\n  ')}\n`)
  },
})
