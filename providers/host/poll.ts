// The pause between two polls for what another process does, such as to start or to end. Each costs some 100 µs of a processor that this
// process may be waiting for: what comes soon is seen at once, and what takes long is seen later by a twentieth of its time at most.
import { setTimeout as pause } from 'node:timers/promises'

const soonest_ms = 3
const later_max = 0.05

/** The pause before the next poll. began: when the wait began, by `performance.now()`. */
export async function untilNextPoll(began: number): Promise<void> {
  await pause(Math.max(soonest_ms, (performance.now() - began) * later_max))
}
