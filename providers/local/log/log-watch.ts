// Keeps the logs of this host within their bounds between two passes, which are minutes apart: a service that logs as fast as
// it can would fill the disk meanwhile. A folder is listed only when a file in it was begun or removed, so a log that does not
// rotate costs next to nothing. A removed folder is not watched any more.
import { statSync } from 'node:fs'
import type { Effect } from '../host/effect.ts'
import { newPolling } from '../host/polling.ts'
import { ensureLogRetention, type LogRetention } from './retention.ts'

export type LogWatch = {
  /** Removes log files that are too old or too much, now and from now on. */
  ensureKept(folder: string): Promise<void>
  close(): void
}

const poll_every_ms_default = 10_000
/** Times of files are as coarse as that, with a margin. */
const clock_tick_ms_max = 1_000

export function newLogWatch(effect: Effect, retention: LogRetention, poll_every_ms = poll_every_ms_default): LogWatch {
  const changed_ms = new Map<string, number>()

  const ensureKept = async (folder: string) => {
    const now_ms = changedAt(folder) ?? 0
    // Before the listing, so that a change after it is noticed next time; another change at the same tick of the clock too.
    changed_ms.set(folder, now_ms < Date.now() - clock_tick_ms_max ? now_ms : 0)
    await ensureLogRetention(effect, folder, retention)
  }
  const poll = async (folder: string, before_ms: number) => {
    const now_ms = changedAt(folder)
    if (now_ms === undefined) changed_ms.delete(folder)
    else if (now_ms !== before_ms) await ensureKept(folder)
  }
  const polling = newPolling(poll_every_ms, async () => {
    for (const [folder, before_ms] of changed_ms) {
      // A failure here recurs in the next pass over its service, which reports it.
      await poll(folder, before_ms).catch(() => undefined)
    }
  })
  polling.set(true)

  return {
    ensureKept,
    close() {
      polling.set(false)
      changed_ms.clear()
    },
  }
}

function changedAt(folder: string): number | undefined {
  return statSync(folder, { throwIfNoEntry: false })?.mtimeMs
}
