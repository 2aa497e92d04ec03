// Keeps an API server that does not answer from being asked by every pass, and a healthy one from being asked too much: at most so many
// requests at once and so many in a second. After three silences within ten seconds every request fails at once for five seconds, also
// those that were waiting for their turn.
import { setTimeout as pause } from 'node:timers/promises'
import { NoAnswer } from './errors.ts'

const at_once_max = 8
const per_second_max = 20
/** What may be saved up while nothing is asked, for the burst of a new service. */
const burst_max = 40
const silences_max = 3
const silences_within_ms = 10_000
const open_ms = 5_000

export function newBreaker(now: () => number = () => performance.now()) {
  const silences: number[] = []
  const waiting: (() => void)[] = []
  let [running, tokens, filled_ms, open_until_ms] = [0, burst_max, now(), 0]

  async function takePlace(): Promise<void> {
    if (running >= at_once_max) await new Promise<void>((resolve) => void waiting.push(resolve))
    else running += 1
  }

  function givePlace(): void {
    const next = waiting.shift()
    if (next) next()
    else running -= 1
  }

  async function takeToken(): Promise<void> {
    for (;;) {
      throwIfOpen()
      const at_ms = now()
      tokens = Math.min(burst_max, tokens + ((at_ms - filled_ms) / 1000) * per_second_max)
      filled_ms = at_ms
      if (tokens >= 1) break
      await pause(((1 - tokens) / per_second_max) * 1000)
    }
    tokens -= 1
  }

  function throwIfOpen(): void {
    if (now() < open_until_ms) throw new NoAnswer('it did not answer just now')
  }

  async function asked<T>(ask: () => Promise<T>): Promise<T> {
    try {
      const answer = await ask()
      silences.length = 0
      return answer
    } catch (error) {
      if (error instanceof NoAnswer) {
        silences.push(now())
        while ((silences[0] ?? Infinity) < now() - silences_within_ms) silences.shift()
        if (silences.length >= silences_max) open_until_ms = now() + open_ms
      }
      throw error
    }
  }

  return {
    async run<T>(ask: () => Promise<T>): Promise<T> {
      throwIfOpen()
      await takePlace()
      try {
        await takeToken()
        return await asked(ask)
      } finally {
        givePlace()
      }
    },
  }
}
