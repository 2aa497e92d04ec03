// Removes old log files: by age and by size, whichever comes first, while the service runs as well as when it does not.
// Whole files are removed, the oldest first, so that the newest remain without a gap. The file being
// written stays whatever its size: rotation is set so that it is a small part of what may be kept.
import type { Effect } from '../host/effect.ts'
import { namesIn } from '../host/entries.ts'
import { findEntry, removeEntry } from '../host/tenant-files.ts'
import { inTurns, log_names_max } from './files.ts'

export type LogRetention = { days: number; mb: number }

export const log_retention_default: LogRetention = { days: 7, mb: 1024 }

const mib = 1024 ** 2
const day_ms = 24 * 3600 * 1000
const rotation_mb_max = 100
/** A server that is started anew every minute makes as many in the days that are kept. */
const kept_names_max = 20_000

/** PostgreSQL writes its JSON log and, beside it, a plain one for output of other programs on its stderr. */
const name_form = /^(postgresql-\d{8}-\d{6})\.(?:json|log)$/

/** How large a file grows before the next one begins: a tenth of all, so that the limit is met within a tenth. */
export function rotationMbOf({ mb }: LogRetention): number {
  return Math.max(1, Math.min(rotation_mb_max, Math.floor(mb / 10)))
}

export async function ensureLogRetention(effect: Effect, folder: string, retention: LogRetention): Promise<void> {
  const names = (await namesIn(folder, log_names_max)).filter((name) => name_form.test(name)).toSorted()
  const newest = stemOf(names.at(-1))
  const oldest_ms = Date.now() - retention.days * day_ms
  let bytes = 0
  let expired: string | undefined
  let kept = 0
  for await (const name of inTurns(names.toReversed())) {
    const stats = findEntry(folder, name)
    bytes += stats?.size ?? 0
    kept += 1
    const too_old = (stats?.mtimeMs ?? Infinity) < oldest_ms
    if (stemOf(name) === newest || (!too_old && bytes <= retention.mb * mib && kept <= kept_names_max)) continue
    expired = stemOf(name)
    break
  }
  for (const name of names) {
    if (expired === undefined || (stemOf(name) ?? '') > expired) break
    await effect('old log: remove')
    await removeEntry(folder, name)
  }
}

function stemOf(name: string | undefined): string | undefined {
  return name_form.exec(name ?? '')?.[1]
}
