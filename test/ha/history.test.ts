// A short history of faults under writes, with a fixed seed; `npm run bench history` writes long ones.
import { expect, test } from 'vitest'
import { runHistory } from '#test/history/history.ts'
import { newSeededDataDir } from '#test/seed.ts'

test(
  'every acknowledged row exists exactly once and in every later read, whatever breaks meanwhile',
  { timeout: 600_000 },
  async () => {
    const { rounds, acknowledged, reads } = await runHistory({
      rounds: 8,
      seed: 1,
      data_dir: await newSeededDataDir(),
      replica_count: 2,
      sync_replica_count: 1,
      kinds: [
        'kill the primary',
        'move the data away',
        'kill server and primary',
        'two at once',
        'fork and kill',
        'switchover',
        'kill the relay',
        'kill primary while the store hangs',
      ],
    })
    for (const { kind, verdict, stale } of rounds) {
      expect(verdict, `after: ${kind}`).toEqual({ lost: [], doubled: [], invented: [] })
      expect(stale, `during: ${kind}`).toEqual([])
    }
    expect(rounds).toHaveLength(8)
    expect(reads).toBeGreaterThan(0)
    expect(acknowledged).toBeGreaterThan(0)
  },
)
