// Tells when the backup of a service becomes late, and when it is in time again: once each.
import type { BackupState } from './place.ts'

/** `message`: a sentence for the events of the service. */
export type OnLate = (service_id: string, message: string) => Promise<void>

export function newLateness(lag_seconds: number, onLate: OnLate) {
  const late = new Set<string>()
  return async (state: BackupState | undefined, now_ms: number): Promise<void> => {
    for (const [service_id, { wal_until, problem }] of Object.entries(state?.services ?? {})) {
      const age_seconds = wal_until === undefined ? 0 : (now_ms - Date.parse(wal_until)) / 1000
      const is_late = age_seconds > lag_seconds
      if (is_late === late.has(service_id)) continue
      const why = problem ?? state?.problem ?? 'the last run took too long'
      const message = is_late
        ? `its backup is ${Math.round(age_seconds)} s behind: ${why}; nothing local is lost, and it catches up`
        : 'its backup is in time again'
      if (is_late) late.add(service_id)
      else late.delete(service_id)
      await onLate(service_id, message)
    }
  }
}
