// Clients of one service that write all the time, as good clients do: a session each, a new one when it breaks, nothing
// written twice. Each write goes into the ledger before it is sent and after its answer.
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import type { ReadyService } from '#test/installation.ts'
import { until } from '#test/until.ts'
import type { Ledger, Write } from './ledger.ts'
import { newSession } from './session.ts'

export type Writers = {
  /** Waits until every writer has had an acknowledgement for a write that it sent from now on. */
  untilAcknowledged(): Promise<void>
  /** No write is under way until they go on. */
  halt(): Promise<void>
  goOn(): void
  /** The longest time without any acknowledgement since it was last asked, in milliseconds. */
  longestOutage(): number
  rows(): Promise<Write[]>
  stop(): Promise<void>
}

const retry_ms = 5
const between_writes_ms = 4

export async function startWriters(service: ReadyService, ca: string, ledger: Ledger, count: number): Promise<Writers> {
  const login = () => newSession(service, ca)
  const first = await login()
  await first.query('create table if not exists history (writer int not null, number int not null)')
  await first.query('create index if not exists history_writes on history (writer, number)')
  await first.end()
  const state = { stopped: false, halted: false, busy: 0, last: performance.now(), longest: 0 }
  const acknowledged = Array.from({ length: count }, () => 0)

  const write = async (session: pg.Client, one: Write) => {
    ledger.send(one)
    try {
      await session.query(`insert into history values (${one.writer}, ${one.number})`)
    } catch (error) {
      ledger.end(one, 'unknown')
      throw error
    }
    ledger.end(one, 'acknowledged')
    acknowledged[one.writer] = one.number
    state.longest = Math.max(state.longest, performance.now() - state.last)
    state.last = performance.now()
  }
  const sent = Array.from({ length: count }, () => 0)
  const writeOn = async (writer: number) => {
    let session: pg.Client | undefined
    while (!state.stopped) {
      await pause(session ? between_writes_ms : retry_ms)
      if (state.halted) continue
      state.busy += 1
      try {
        session ??= await login()
        const number = (sent[writer] ?? 0) + 1
        sent[writer] = number
        await write(session, { writer, number })
      } catch {
        session?.connection.stream.destroy()
        session = undefined
      } finally {
        state.busy -= 1
      }
    }
    await session?.end().catch(() => undefined)
  }
  const running = acknowledged.map((_, writer) => writeOn(writer))

  return {
    untilAcknowledged: async () => {
      const from = [...sent]
      await until(() => acknowledged.every((number, writer) => number > (from[writer] ?? 0)), {
        what: 'every writer has an acknowledgement again',
      })
    },
    halt: async () => {
      state.halted = true
      await until(() => state.busy === 0, { what: 'no write is under way' })
    },
    goOn: () => {
      state.last = performance.now()
      state.halted = false
    },
    longestOutage: () => {
      const { longest } = state
      state.longest = 0
      return longest
    },
    rows: async () => {
      const session = await login()
      try {
        const { rows } = await session.query<Write>('select writer, number from history')
        return rows
      } finally {
        await session.end()
      }
    },
    stop: async () => {
      state.stopped = true
      await Promise.all(running)
    },
  }
}
