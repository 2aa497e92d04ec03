// Locks that dead processes left in the repository. restic removes those of this host, and any that is older than 30 minutes. A living
// process renews its lock every 5 minutes, and it has another id then: a lock that lies there for longer, by the clock of this process, is
// a dead one's, on whichever machine that ran. Only those are removed: a prune that goes on may remove what a new run relies on.
import { setTimeout as pause } from 'node:timers/promises'
import { list_timeout_seconds, type Restic, ResticError } from './restic.ts'

export type DeadLocks = {
  /** Removes those that are known to be dead by now. To be called again and again. */
  remove(restic: Restic): Promise<void>
}

const renewed_within_ms = 6 * 60_000
const poll_ms = 2_000

export function newDeadLocks(patience_ms = renewed_within_ms): DeadLocks {
  const first_seen = new Map<string, number>()
  return {
    remove: async (restic) => {
      let ids = await listLocks(restic)
      if (ids.length > 0) {
        await restic(['unlock'], { timeout_seconds: list_timeout_seconds })
        ids = await listLocks(restic)
      }
      const now = performance.now()
      for (const id of first_seen.keys()) if (!ids.includes(id)) first_seen.delete(id)
      for (const id of ids) first_seen.set(id, first_seen.get(id) ?? now)
      const isDead = (id: string) => now - (first_seen.get(id) ?? now) >= patience_ms
      if (ids.length > 0 && ids.every(isDead)) {
        await restic(['unlock', '--remove-all'], { timeout_seconds: list_timeout_seconds })
      }
    },
  }
}

async function listLocks(restic: Restic): Promise<string[]> {
  const text = await restic(['list', 'locks', '--no-lock'], { timeout_seconds: list_timeout_seconds })
  return text.split('\n').filter(Boolean)
}

export const isLocked = (error: unknown): boolean =>
  error instanceof ResticError && /already locked/.test(error.message)

/** Waits for as long as the repository is locked. onWait: called once. */
export async function whenUnlocked<T>(
  restic: Restic,
  { locks, onWait }: { locks: DeadLocks; onWait: () => void },
  work: () => Promise<T>,
): Promise<T> {
  for (let told = false; ; told = true) {
    try {
      return await work()
    } catch (error) {
      if (!isLocked(error)) throw error
      if (!told) onWait()
      await locks.remove(restic)
      await pause(poll_ms)
    }
  }
}
