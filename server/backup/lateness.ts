// Tells when the backup of a service becomes late, when it is late for another reason, and when it is in time again: once each.
import type { BackupState } from './backup-files.ts'

/** `message`: a sentence for the events of the service. */
export type OnLate = (service_id: string, message: string) => Promise<void>

const slow = 'the last run took too long'
/** Services may run on without a server. */
const absent = 'no server made backups meanwhile'

/** begun_ms: when this server began to make them. */
export function newLateness(lag_seconds: number, onLate: OnLate, begun_ms: number) {
  /** The reason that was told. */
  const late = new Map<string, string>()
  return async (state: BackupState | undefined, now_ms: number): Promise<void> => {
    const unknown = now_ms - begun_ms > lag_seconds * 1000 ? slow : absent
    for (const [service_id, { wal_until, problem }] of Object.entries(state?.services ?? {})) {
      const age_seconds = wal_until === undefined ? 0 : (now_ms - Date.parse(wal_until)) / 1000
      const is_late = age_seconds > lag_seconds
      const told = late.get(service_id)
      const why = problem ?? state?.problem ?? unknown
      const is_told = told === why || (told !== undefined && why === slow)
      if (is_late ? is_told : told === undefined) continue
      const message = is_late
        ? `its backup is ${Math.round(age_seconds)} s behind: ${why}; nothing local is lost`
        : 'its backup is in time again'
      await onLate(service_id, message)
      if (is_late) late.set(service_id, why)
      else late.delete(service_id)
    }
  }
}
