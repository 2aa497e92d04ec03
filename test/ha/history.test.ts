// A short history of faults under writes, each kind of fault once; `npm run bench history` writes long ones.
import { expect, test } from 'vitest'
import { runHistory } from '#test/history/history.ts'
import { sampleOf } from '#test/sample.ts'
import { newSeededDataDir } from '#test/seed.ts'

/** Half of them in each run, all with `npm test -- --all`. */
const kinds = sampleOf(
  [
    'kill the primary',
    'move the data away',
    'kill server and primary',
    'two at once',
    'fork and kill',
    'switchover',
    'kill the relay',
    'kill primary while the store hangs',
  ] as const,
  4,
)

test(
  'every acknowledged row exists exactly once and in every later read, whatever breaks meanwhile',
  { timeout: 600_000 },
  async () => {
    const { rounds, acknowledged, reads } = await runHistory({
      rounds: kinds.length,
      seed: 1,
      data_dir: await newSeededDataDir(),
      replica_count: 2,
      sync_replica_count: 1,
      kinds,
    })
    for (const { kind, verdict, stale } of rounds) {
      expect(verdict, `after: ${kind}`).toEqual({ lost: [], doubled: [], invented: [] })
      expect(stale, `during: ${kind}`).toEqual([])
    }
    expect(rounds).toHaveLength(kinds.length)
    expect(reads).toBeGreaterThan(0)
    expect(acknowledged).toBeGreaterThan(0)
  },
)
