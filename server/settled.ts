// The wait of the few verbs that must hold when they answer (such as a password change): after their commit they wait
// until the generation they wrote has been made true. The intent is recorded either way, and the 503 says so.
import { Fault } from '#contract/fault.ts'
import type { Db, Sql } from './db.ts'

const patience_ms = 20_000

/** settledGeneration: the generation made true so far; undefined when the subject is gone. */
type Look = () => Promise<number | undefined>

export type Settled = { wait(id: string, generation: number, settledGeneration: Look): Promise<void> }

export async function announceSettled(tx: Sql, id: string): Promise<void> {
  await tx.query(`select pg_notify('settled', $1)`, [id])
}

export function newSettled(db: Db): Settled {
  const waiting = new Set<{ id: string; look: () => void }>()
  db.listen('settled', (id) => {
    for (const one of waiting) if (id === undefined || id === one.id) one.look()
  })
  return {
    wait: (id, generation, settledGeneration) =>
      new Promise((resolve, reject) => {
        const end = (finish: () => void) => {
          clearTimeout(timer)
          waiting.delete(one)
          finish()
        }
        const timer = setTimeout(() => end(() => reject(tooSlow())), patience_ms)
        const look = () => {
          settledGeneration().then(
            (settled) => {
              if (settled === undefined) end(() => reject(new Fault('CONFLICT', 'it was deleted meanwhile')))
              else if (settled >= generation) end(resolve)
            },
            () => undefined, // The store is away: the next notice or the patience decides.
          )
        }
        const one = { id, look }
        waiting.add(one)
        look()
      }),
  }
}

function tooSlow(): Fault {
  return new Fault(
    'UNAVAILABLE',
    'the change is recorded and will be made, but it does not hold yet; look at the events of the service',
    { retry_after_seconds: 5 },
  )
}
