// A short history of faults under writes, with a fixed seed; `npm run bench history` writes long ones.
import { expect, test } from 'vitest'
import { runHistory } from '#test/history/history.ts'

test('what was acknowledged is there exactly once, whatever breaks meanwhile', { timeout: 600_000 }, async () => {
  const { rounds, acknowledged } = await runHistory({
    rounds: 6,
    seed: 1,
    replica_count: 2,
    sync_replica_count: 1,
    kinds: [
      'kill the primary',
      'move the data away',
      'kill server and primary',
      'two at once',
      'fork and kill',
      'switchover',
    ],
  })
  for (const { kind, verdict } of rounds) {
    expect(verdict, `after: ${kind}`).toEqual({ lost: [], doubled: [], invented: [] })
  }
  expect(rounds).toHaveLength(6)
  expect(acknowledged).toBeGreaterThan(0)
})
