// Clients of one service that read all the time at its endpoint: each read must see every write that was acknowledged before it
// began. Of each writer the last one is searched, because a node that is behind lacks the last ones first.
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import type { ReadyService } from '#test/installation.ts'
import { missingIn, type Ledger, type Write } from './ledger.ts'
import { newSession } from './session.ts'

export type Readers = {
  /** The writes that some read lacked since this was last asked, and who answered it. */
  stale(): string[]
  /** How many reads were answered in all. */
  count(): number
  stop(): Promise<void>
}

const retry_ms = 5
const between_reads_ms = 4
/** A node that is behind is so for many reads. */
const told_max = 3

export function startReaders(service: ReadyService, ca: string, ledger: Ledger, count: number): Readers {
  const state = { stopped: false, stale: [] as string[], reads: 0 }
  const readOn = async () => {
    let session: Awaited<ReturnType<typeof newSession>> | undefined
    while (!state.stopped) {
      await pause(session ? between_reads_ms : retry_ms)
      try {
        session ??= await newSession(service, ca)
        const expected = ledger.latest()
        const missing = missingIn(await read(session, expected), expected)
        state.reads += 1
        if (missing.length > 0 && state.stale.length < told_max)
          state.stale.push(`${missing.join(' ')} at ${await whereIs(session)}`)
      } catch {
        session?.connection.stream.destroy()
        session = undefined
      }
    }
    await session?.end().catch(() => undefined)
  }
  const running = Array.from({ length: count }, readOn)
  return {
    stale: () => state.stale.splice(0),
    count: () => state.reads,
    stop: async () => {
      state.stopped = true
      await Promise.all(running)
    },
  }
}

async function read(session: pg.Client, writes: readonly Write[]): Promise<Write[]> {
  if (writes.length === 0) return []
  const pairs = writes.map(({ writer, number }) => `(${writer}, ${number})`).join(', ')
  const { rows } = await session.query<Write>(`select writer, number from history where (writer, number) in (${pairs})`)
  return rows
}

async function whereIs(session: pg.Client): Promise<string> {
  const { rows } = await session.query<{ place: string }>(
    `select concat(inet_server_addr(), ', in recovery: ', pg_is_in_recovery()) as place`,
  )
  return rows[0]?.place ?? 'an unknown node'
}
