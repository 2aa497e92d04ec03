// What a pass says of a service or a replica set that is not as it is wanted yet, and how soon the next pass follows. Pure.
import type { ObservedService } from './provider.ts'

type State = ObservedService['state']
type Setback = { state: State; settled: false; waiting_for: string; look_again_seconds: number; events: [] }

const look_again_soon_seconds = 1
const look_again_after_setback_seconds = 3

export function setback(
  state: State,
  waiting_for: string,
  look_again_seconds = look_again_after_setback_seconds,
): Setback {
  return { state, settled: false, waiting_for, look_again_seconds, events: [] }
}

/** A step of work that ends by itself. */
export function progress(
  state: State,
  waiting_for: string,
  look_again_seconds = look_again_soon_seconds,
): Setback & { in_progress: true } {
  return { ...setback(state, waiting_for, look_again_seconds), in_progress: true }
}
