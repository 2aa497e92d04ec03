// Up to which moment everything that was committed in a service has reached the store. A position of the WAL that was the newest at some
// moment proves that moment once the archive has it. What is held here only makes the answer younger: without it the last one stands.
import { parseLsn, segmentNumberOf } from '../../postgres/lsn.ts'

/** As the instance manager of a primary tells it. */
export type Status = { currentLsn?: string; lastArchivedWAL?: string }

type Known = { proven?: Date; pending?: { at: Date; position: bigint }; lsn?: string }

export type Archives = ReturnType<typeof newArchives>

export function newArchives() {
  const known = new Map<string, Known>()
  return {
    /** Undefined: no moment is proven since this server started. */
    provenOf: (service_id: string) => known.get(service_id)?.proven,
    forget: (service_id: string) => void known.delete(service_id),
    /** True: WAL was written since the last time. */
    note: (service_id: string, status: Status, at: Date): boolean => {
      const before = known.get(service_id) ?? {}
      const { currentLsn: lsn } = status
      known.set(service_id, { ...nextOf(before, status, at), ...(lsn && { lsn }) })
      return before.lsn !== lsn
    },
  }
}

/** Pure. */
export function nextOf({ proven, pending }: Known, { currentLsn, lastArchivedWAL }: Status, at: Date): Known {
  const [newest, archived] = [positionOf(currentLsn), endOf(lastArchivedWAL)]
  if (newest === undefined || archived === undefined) return { ...(proven && { proven }), ...(pending && { pending }) }
  if (newest <= archived) return { proven: at }
  const reached = pending !== undefined && pending.position <= archived ? pending.at : proven
  const next = pending !== undefined && pending.position > archived ? pending : { at, position: newest }
  return { ...(reached && { proven: reached }), pending: next }
}

/** Of `0/511D928`. */
const positionOf = (lsn = '') => (/^[0-9A-F]{1,8}\/[0-9A-F]{1,8}$/i.test(lsn) ? parseLsn(lsn) : undefined)

/** The operator makes them of 16 MB. */
const segment_bytes = 2 ** 24

/** Where a whole file of WAL ends. */
const endOf = (file = '') =>
  /^[0-9A-F]{24}$/i.test(file) ? BigInt(segmentNumberOf(file, segment_bytes) + 1) * BigInt(segment_bytes) : undefined
