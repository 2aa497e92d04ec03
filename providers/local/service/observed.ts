// The result of a pass over a service, and how soon the next one follows.
import type { ObservedService } from '../../provider.ts'
import type { Node } from '../host/layout.ts'
import { setback } from '../../setback.ts'

/** What is observed of the service itself; its snapshots are read last. */
export type Observed = Omit<ObservedService, 'snapshots'>

/** No empty database takes its place, and no second copy of its source: clients would take it for theirs. */
export function lost({ data }: Node): Observed {
  const help = 'restore the service from a backup, or fork its last snapshot (LAST_SNAPSHOT), and delete this one'
  return setback('absent', `its data directory ${data} is gone; put it back, such as by mounting its disk; or ${help}`)
}

/** Both together: it serves as the first says, and is settled when the second is too. */
export function withMore(
  observed: Observed,
  more: Pick<Observed, 'settled' | 'waiting_for' | 'in_progress' | 'look_again_seconds' | 'events'>,
): Observed {
  const pace = Math.min(observed.look_again_seconds ?? Infinity, more.look_again_seconds ?? Infinity)
  return {
    ...more,
    ...observed,
    in_progress: (observed.waiting_for === undefined ? more : observed).in_progress,
    settled: observed.settled && more.settled,
    events: [...observed.events, ...more.events],
    ...(pace < Infinity && { look_again_seconds: pace }),
  }
}
