// Waiting for a change that is under way: for verbs that must hold when they answer (such as a password change), and for callers that
// prefer one long request, or a stream, to polling. Every pass after which everything wanted holds is announced by the id of its
// subject, and every event by that of its project.
import { Fault } from '#contract/fault.ts'
import type { Db, Sql } from './store/db.ts'
import { sql } from './store/sql.ts'

const patience_ms = 20_000

/** The generation made true so far; undefined when the subject is removed. */
type ReadGeneration = () => Promise<number | undefined>

export type Settled = {
  /** Until this generation has been made true. The intent is recorded either way, and the 503 says so. */
  wait(id: string, generation: number, settledGeneration: ReadGeneration): Promise<void>
  /** The first answer that is enough; after this time, or when the server is about to end, the answer of that moment. */
  see<Seen>(id: string, read: () => Promise<Seen>, isEnough: (seen: Seen) => boolean, at_most_ms: number): Promise<Seen>
  /** Calls back at every notice of this id, and when some may have been missed; returns what ends that. */
  watch(id: string, onNotice: () => void): () => void
  /** Given with `close`. */
  closing: AbortSignal
  /** Answers all calls of `see`; those of `wait` go on. */
  close(): void
}

type Watching = { id: string; poll: () => void }
type Waiting = Watching & { giveUp: () => void }

/** Of no subject: a drill was asked for. */
export const drill_requested = 'drill_requested'

export async function announceSettled(tx: Sql, id: string): Promise<void> {
  await tx.query(sql`select pg_notify('settled', ${id})`)
}

export function newSettled(db: Db): Settled {
  const [waiting, seeing, watching] = [new Set<Waiting>(), new Set<Waiting>(), new Set<Watching>()]
  const closing = new AbortController()
  db.listen('settled', (id) => {
    for (const one of [...waiting, ...seeing, ...watching]) if (id === undefined || id === one.id) one.poll()
  })
  return {
    wait: async (id, generation, settledGeneration) => {
      // While the store is unreachable, the next notice or the patience decides.
      const read = () => settledGeneration().catch(() => 0)
      const isEnough = (settled: number | undefined) => settled === undefined || settled >= generation
      const settled = await firstSeen(waiting, { id, read, isEnough, at_most_ms: patience_ms })
      if (settled === undefined) throw new Fault('CONFLICT', 'it was deleted meanwhile')
      if (settled < generation) throw tooSlow()
    },
    see: (id, read, isEnough, at_most_ms) =>
      closing.signal.aborted ? read() : firstSeen(seeing, { id, read, isEnough, at_most_ms }),
    watch: (id, onNotice) => {
      const one = { id, poll: onNotice }
      watching.add(one)
      return () => void watching.delete(one)
    },
    closing: closing.signal,
    close: () => {
      closing.abort()
      for (const one of seeing) one.giveUp()
    },
  }
}

type Wait<Seen> = { id: string; read: () => Promise<Seen>; isEnough: (seen: Seen) => boolean; at_most_ms: number }

/** Reads at once, at every notice, and when time is up; one read at a time. A read that fails ends the wait. */
function firstSeen<Seen>(those: Set<Waiting>, { id, read, isEnough, at_most_ms }: Wait<Seen>): Promise<Seen> {
  return new Promise((resolve, reject) => {
    let [given_up, is_reading, is_told] = [false, false, false]
    const end = (finish: () => void) => {
      clearTimeout(timer)
      those.delete(one)
      finish()
    }
    const poll = () => {
      is_told = is_reading
      if (is_reading) return
      is_reading = true
      read().then(
        (seen) => {
          is_reading = false
          if (isEnough(seen) || (given_up && !is_told)) end(() => resolve(seen))
          else if (is_told) poll()
        },
        (error: unknown) => end(() => reject(error)),
      )
    }
    const giveUp = () => {
      given_up = true
      poll()
    }
    const timer = setTimeout(giveUp, at_most_ms)
    const one = { id, poll, giveUp }
    those.add(one)
    poll()
  })
}

function tooSlow(): Fault {
  return new Fault(
    'UNAVAILABLE',
    'the change is recorded and will be made, but it does not hold yet; read the events of the service',
    { retry_after_seconds: 5 },
  )
}
