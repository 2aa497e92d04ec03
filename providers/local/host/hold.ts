// Who is copying in a service's home: a file that names a process, so that no second server on this directory begins
// the same copy, removes it half-made, or starts PostgreSQL on data that is being copied while it stands still.
// A hold ends with its work or with its process: by pid and start time where that can be seen, else by its last sign of life.
import { utimes } from 'node:fs/promises'
import { ensureFile, ensureRemoved, type Effect } from './effect.ts'
import { readIfThere } from './look.ts'
import type { Place } from './layout.ts'
import { isAlive, ownName } from './process-name.ts'

/** `standing still`: PostgreSQL must not start meanwhile. */
export type HoldKind = 'copying while it runs' | 'copying while it stands still' | 'making its data'

const sign_of_life_ms = 2_000

/** What a living process is doing in this home; undefined when nobody is. */
export async function findHold(place: Place): Promise<HoldKind | undefined> {
  const text = await readIfThere(place.copying)
  if (text === undefined) return undefined
  const [kind, owner] = text.split('\n')
  return isAlive(owner ?? '', place.copying) ? (kind as HoldKind) : undefined // written below, in one piece
}

/** Does the work while holding; false, and nothing done, when somebody else holds. The caller has the service's lease. */
export async function withHold(effect: Effect, place: Place, kind: HoldKind, work: () => Promise<void>) {
  if ((await findHold(place)) !== undefined) return false
  await ensureFile(effect, 'hold', place.copying, `${kind}\n${ownName()}\n`, undefined)
  const timer = setInterval(() => {
    const now = new Date()
    utimes(place.copying, now, now).catch(() => undefined)
  }, sign_of_life_ms).unref()
  try {
    await work()
    return true
  } finally {
    clearInterval(timer)
    await ensureRemoved(effect, 'hold', place.copying)
  }
}
