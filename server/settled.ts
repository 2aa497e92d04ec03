// Waiting for what is under way, for those who ask: verbs that must hold when they answer (such as a password change), and
// whoever would rather look once than again and again. Every look that finds all as it is wanted is announced.
import { Fault } from '#contract/fault.ts'
import type { Db, Sql } from './store/db.ts'
import { sql } from './store/sql.ts'

const patience_ms = 20_000

/** settledGeneration: the generation made true so far; undefined when the subject is gone. */
type Look = () => Promise<number | undefined>

export type Settled = {
  /** Until this generation has been made true. The intent is recorded either way, and the 503 says so. */
  wait(id: string, generation: number, settledGeneration: Look): Promise<void>
  /** The first that is enough; after this time, or when the server is about to end, whatever is seen then. */
  see<Seen>(id: string, look: () => Promise<Seen>, isEnough: (seen: Seen) => boolean, at_most_ms: number): Promise<Seen>
  /** Ends the patience of those who only see. */
  close(): void
}

type Waiting = { id: string; look: () => void; giveUp: () => void }

export async function announceSettled(tx: Sql, id: string): Promise<void> {
  await tx.query(sql`select pg_notify('settled', ${id})`)
}

export function newSettled(db: Db): Settled {
  const [waiting, seeing] = [new Set<Waiting>(), new Set<Waiting>()]
  let closed = false
  db.listen('settled', (id) => {
    for (const one of [...waiting, ...seeing]) if (id === undefined || id === one.id) one.look()
  })
  return {
    wait: async (id, generation, settledGeneration) => {
      // While the store is away, the next notice or the patience decides.
      const look = () => settledGeneration().catch(() => 0)
      const isEnough = (settled: number | undefined) => settled === undefined || settled >= generation
      const settled = await firstSeen(waiting, { id, look, isEnough, at_most_ms: patience_ms })
      if (settled === undefined) throw new Fault('CONFLICT', 'it was deleted meanwhile')
      if (settled < generation) throw tooSlow()
    },
    see: (id, look, isEnough, at_most_ms) => (closed ? look() : firstSeen(seeing, { id, look, isEnough, at_most_ms })),
    close: () => {
      closed = true
      for (const one of seeing) one.giveUp()
    },
  }
}

type Wish<Seen> = { id: string; look: () => Promise<Seen>; isEnough: (seen: Seen) => boolean; at_most_ms: number }

/** Looks at once, whenever there is news, and when time is up. A look that fails is the end of it. */
function firstSeen<Seen>(those: Set<Waiting>, { id, look, isEnough, at_most_ms }: Wish<Seen>): Promise<Seen> {
  return new Promise((resolve, reject) => {
    let given_up = false
    const end = (finish: () => void) => {
      clearTimeout(timer)
      those.delete(one)
      finish()
    }
    const lookOnce = () => {
      look().then(
        (seen) => void ((given_up || isEnough(seen)) && end(() => resolve(seen))),
        (error: unknown) => end(() => reject(error)),
      )
    }
    const giveUp = () => {
      given_up = true
      lookOnce()
    }
    const timer = setTimeout(giveUp, at_most_ms)
    const one = { id, look: lookOnce, giveUp }
    those.add(one)
    lookOnce()
  })
}

function tooSlow(): Fault {
  return new Fault(
    'UNAVAILABLE',
    'the change is recorded and will be made, but it does not hold yet; look at the events of the service',
    { retry_after_seconds: 5 },
  )
}
