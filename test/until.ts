// Waiting for something to become true, by polling. The only way a test waits: no sleeps, and the deadline is
// generous because the machine may be very busy; it exists so that a hang becomes a failure with a sentence.
import { setTimeout as pause } from 'node:timers/promises'

/** A region on another machine may need longer. */
const timeout_ms_default = Number(process.env['TEST_PATIENCE_SECONDS'] ?? 120) * 1000
const interval_ms_min = 20
/** Polls cost what the awaited work needs too: a long wait polls less often, and is over later by this share of it at most. */
const later_max = 0.1
const interval_ms_max = 250

type Falsy = false | undefined | null | 0 | ''

/** Polls until the value is truthy and returns it. A poll that throws counts as "not yet" and is named on failure. */
export async function until<T>(
  read: () => Promise<T> | T,
  options: { timeout_ms?: number; interval_ms?: number; what?: string } = {},
): Promise<Exclude<T, Falsy>> {
  const { timeout_ms = timeout_ms_default } = options
  const begun = performance.now()
  const deadline = begun + timeout_ms
  let last: unknown
  for (;;) {
    try {
      const value = await read()
      // The cast says what the condition has just shown; TypeScript cannot narrow an open T.
      if (value) return value as Exclude<T, Falsy>
      last = value
    } catch (error) {
      last = error
    }
    if (performance.now() > deadline) {
      throw new Error(`not true after ${timeout_ms} ms: ${options.what ?? read.toString()}`, { cause: last })
    }
    const seldom_ms = Math.min(interval_ms_max, (performance.now() - begun) * later_max)
    await pause(options.interval_ms ?? Math.max(interval_ms_min, seldom_ms))
  }
}

/** A moment between all that has happened and all that follows. */
export async function momentNow(): Promise<Date> {
  const moment = Date.now() + 1
  await until(() => Date.now() > moment + 1, { interval_ms: 1 })
  return new Date(moment)
}
