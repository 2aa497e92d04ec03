// Whether a service takes writes and logins right now, by what is left of the disk and of its quota. Asked by whoever writes
// the files that PostgreSQL reads; nothing is remembered here.
import type { LocalHost } from '../local-host.ts'
import { quotaTrouble } from '../quota/watch.ts'
import { low_sentence, shut_sentence } from '../room-watch.ts'

export type Access = {
  /** Undefined: not known yet, so it stays as it is. */
  writes: boolean | undefined
  logins: boolean
  /** Since when writes are refused. */
  since?: Date
  /** For the temporary files of one session; absent: that of its size. */
  temp_file_limit?: '0' | '64MB'
}

type Watches = Pick<LocalHost, 'room_watch' | 'quota_watch' | 'disk_quota'>

export function accessOf({ room_watch, quota_watch, disk_quota }: Watches, service_id: string): Access {
  const low_since = room_watch.lowSince()
  const { level, since } = quota_watch.find(service_id)?.state ?? {}
  const logins = !room_watch.isShut(service_id) && level !== 'shut'
  if (low_since) return { writes: false, logins, since: low_since, temp_file_limit: '0' }
  if (disk_quota > 0 && level === undefined) return { writes: undefined, logins }
  if (since && (level === 'full' || level === 'shut')) return { writes: false, logins, since, temp_file_limit: '64MB' }
  return { writes: true, logins }
}

/** Why, for its users; undefined when it takes both. */
export function accessTrouble({ room_watch, quota_watch }: Watches, service_id: string): string | undefined {
  if (room_watch.isShut(service_id)) return shut_sentence
  if (room_watch.lowSince()) return low_sentence
  return quotaTrouble(quota_watch, service_id)
}
