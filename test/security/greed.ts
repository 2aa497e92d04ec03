// A tenant that takes what it can get: it writes in transactions that insist on writing, and comes back whenever it is
// disconnected.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { loginTo } from '#test/database.ts'
import type { ReadyService, TestInstallation } from '#test/installation.ts'
import { until } from '#test/until.ts'

export type Greed = {
  /** How many transactions were committed. */
  committed(): number
  /** What PostgreSQL said to those that were not. */
  refusals(): readonly string[]
  stop(): Promise<void>
}

/** Some megabytes each, into a table `hoard` that is there. */
const insert = `insert into hoard select repeat(md5(n::text), 32) from generate_series(1, 4000) n`
const refusals_kept = 100

export function startGreed(
  { server }: TestInstallation,
  service: ReadyService,
  { transaction = 'begin read write', statement = insert } = {},
): Greed {
  const stopping = new AbortController()
  let committed = 0
  const refusals: string[] = []
  const note = (error: unknown) => {
    refusals.push(error instanceof Error ? error.message : String(error))
    if (refusals.length > refusals_kept) refusals.shift()
  }
  const session = async () => {
    const client = await loginTo(server.api_url, service, service.initial_password)
    try {
      while (!stopping.signal.aborted) {
        await client.query(`${transaction}; ${statement}; commit`)
        committed += 1
      }
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  const comeBack = async () => {
    await session().catch(note)
    return stopping.signal.aborted
  }
  const ended = until(comeBack, { timeout_ms: 600_000, interval_ms: 100, what: 'the greedy tenant was stopped' })
  return {
    committed: () => committed,
    refusals: () => refusals,
    stop: async () => {
      stopping.abort()
      await ended
    },
  }
}

/** Of data, WAL and archive, as the file system counts it. */
export function usedMb(home: string): number {
  const folders = ['data', 'archive'].map((name) => join(home, name))
  const said = execFileSync('du', ['--summarize', '--block-size=1M', ...folders], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return said
    .toString()
    .trim()
    .split('\n')
    .reduce((sum, line) => sum + Number.parseInt(line, 10), 0)
}
