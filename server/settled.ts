// The wait of the few verbs that must hold when they answer (such as a password change): after their commit they wait
// until the generation they wrote has been made true. The intent is recorded either way, and the 503 says so.
import { Fault } from '#contract/fault.ts'
import type { Db, Sql } from './db.ts'

const patience_ms = 20_000

export type Settled = { wait(service_id: string, generation: number): Promise<void> }

export async function announceSettled(tx: Sql, service_id: string): Promise<void> {
  await tx.query(`select pg_notify('settled', $1)`, [service_id])
}

/** settledGeneration: the generation made true so far; undefined when the subject is gone. advice: for who was let down. */
export function newSettled(
  db: Db,
  settledGeneration: (service_id: string) => Promise<number | undefined>,
  advice = 'look at the events of the service',
): Settled {
  const waiting = new Set<{ service_id: string; look: () => void }>()
  db.listen('settled', (service_id) => {
    for (const one of waiting) if (service_id === undefined || service_id === one.service_id) one.look()
  })
  return {
    wait: (service_id, generation) =>
      new Promise((resolve, reject) => {
        const end = (finish: () => void) => {
          clearTimeout(timer)
          waiting.delete(one)
          finish()
        }
        const timer = setTimeout(() => end(() => reject(tooSlow(advice))), patience_ms)
        const look = () => {
          settledGeneration(service_id).then(
            (settled) => {
              if (settled === undefined) end(() => reject(new Fault('CONFLICT', 'the service was deleted meanwhile')))
              else if (settled >= generation) end(resolve)
            },
            () => undefined, // The store is away: the next notice or the patience decides.
          )
        }
        const one = { service_id, look }
        waiting.add(one)
        look()
      }),
  }
}

function tooSlow(advice: string): Fault {
  return new Fault('UNAVAILABLE', `the change is recorded and will be made, but it does not hold yet; ${advice}`, {
    retry_after_seconds: 5,
  })
}
