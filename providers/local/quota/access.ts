// Whether a service takes writes and logins right now, by what is left of the disk and of its quota. Read when the files
// that PostgreSQL reads are written; no state is kept here.
import type { Access } from '../postgres/postgres-host.ts'
import { quotaTrouble, type QuotaWatch } from './watch.ts'
import { low_sentence, type DiskSpaceWatch, shut_sentence } from './disk-space-watch.ts'

/** `disk_quota`: GB of disk for each GB of memory; 0: there are no quotas. */
export type SpaceWatches = { disk_space_watch: DiskSpaceWatch; quota_watch: QuotaWatch; disk_quota: number }

export function accessOf({ disk_space_watch, quota_watch, disk_quota }: SpaceWatches, service_id: string): Access {
  const low_since = disk_space_watch.lowSince()
  const { level, since } = quota_watch.find(service_id)?.state ?? {}
  const logins = !disk_space_watch.isShut(service_id) && level !== 'shut'
  if (low_since) {
    // An archive that has fallen behind would go on to take the last space.
    const archives = !disk_space_watch.isSuspect(service_id)
    return { writes: false, logins, since: low_since, temp_file_limit: '0', archives }
  }
  if (disk_quota > 0 && level === undefined) return { writes: undefined, logins }
  if (since && (level === 'full' || level === 'shut')) return { writes: false, logins, since, temp_file_limit: '64MB' }
  return { writes: true, logins }
}

/** The reason, for its users; undefined when it takes both. */
export function accessTrouble({ disk_space_watch, quota_watch }: SpaceWatches, service_id: string): string | undefined {
  if (disk_space_watch.isShut(service_id)) return shut_sentence
  if (disk_space_watch.lowSince()) return low_sentence
  return quotaTrouble(quota_watch, service_id)
}
