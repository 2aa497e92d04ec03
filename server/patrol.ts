// Work that is repeated every few seconds, as long as the server runs.
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from './log.ts'

export type Patrol = { stop(): Promise<void> }

const patrol_ms = 5_000

/** Once before it returns, and then now and then. A round that fails is logged; the next one comes. */
export async function startPatrol(round: () => Promise<void>, log: Log, every_ms = patrol_ms): Promise<Patrol> {
  const closing = new AbortController()
  const go = () => round().catch((error: unknown) => log.warn({ err: error }, 'a patrol failed'))
  await go()
  const walk = async () => {
    while (await pause(every_ms, true, { signal: closing.signal, ref: false }).catch(() => false)) await go()
  }
  const walking = walk()
  return {
    stop: async () => {
      closing.abort()
      await walking
    },
  }
}
