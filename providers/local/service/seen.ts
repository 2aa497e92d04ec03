// What a look at a service comes to, and how soon the next one follows.
import type { ObservedService } from '../../provider.ts'

/** What is seen of the service itself; its snapshots are looked at last. */
export type Seen = Omit<ObservedService, 'snapshots'>

export const look_again_soon_seconds = 1
const look_again_after_setback_seconds = 3

export function setback(
  state: ObservedService['state'],
  waiting_for: string,
  look_again_seconds = look_again_after_setback_seconds,
): Seen {
  return { state, settled: false, waiting_for, look_again_seconds, events: [] }
}

/** Both together: it serves as the one says, and is settled when the other is too. */
export function withMore(
  seen: Seen,
  more: Pick<Seen, 'settled' | 'waiting_for' | 'look_again_seconds' | 'events'>,
): Seen {
  const pace = Math.min(seen.look_again_seconds ?? Infinity, more.look_again_seconds ?? Infinity)
  return {
    ...more,
    ...seen,
    settled: seen.settled && more.settled,
    events: [...seen.events, ...more.events],
    ...(pace < Infinity && { look_again_seconds: pace }),
  }
}
