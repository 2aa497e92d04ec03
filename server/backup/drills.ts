// Restore drills: every service that rests is restored once a day, one after the other, and those that were asked for first. What a drill
// finds is written down with the service; a failure, and the first success after it, are events.
import { setTimeout as pause } from 'node:timers/promises'
import { insertEvent } from '../event.ts'
import type { Log } from '../log.ts'
import type { Regions } from '../regions.ts'
import type { Db } from '../store/db.ts'
import { sql } from '../store/sql.ts'

type Parts = { db: Db; regions: Regions; log: Log }

const poll_ms = 2_000
/** So that there is one in each 24 hours, also where there are many services. */
const every_hours = 20
/** A server that is killed while it drills leaves the service to another one after this. */
const lease_seconds = 60
const renew_ms = 20_000

export function startDrills(parts: Parts): { close(): Promise<void> } {
  const end = new AbortController()
  const walk = async () => {
    while (await pause(poll_ms, true, { signal: end.signal, ref: false }).catch(() => false)) {
      await drillNext(parts, end.signal).catch((error: unknown) =>
        parts.log.warn({ err: error }, 'a drill could not be made'),
      )
    }
  }
  const walking = walk()
  return {
    close: async () => {
      end.abort()
      await walking
    },
  }
}

type Claimed = { service_id: string; region_code: string; drill_error: string | null; began: string }

async function drillNext({ db, regions, log }: Parts, signal: AbortSignal): Promise<void> {
  const drillable = [...regions].flatMap(([region_code, { backup }]) => (backup ? [region_code] : []))
  const claimed = await claim(db, drillable)
  if (claimed === undefined) return
  const { service_id, region_code } = claimed
  const renewal = setInterval(() => void saveLease(db, service_id, lease_seconds).catch(() => undefined), renew_ms)
  try {
    const failed = await regions
      .get(region_code)
      ?.backup?.drill(service_id, signal)
      .catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
    // What the end of the server cut short is no result; the next server begins anew.
    if (signal.aborted) return await saveLease(db, service_id, 0)
    await save(db, claimed, failed)
    log.info({ service_id, failed }, 'service drilled')
  } finally {
    clearInterval(renewal)
  }
}

async function saveLease(db: Db, service_id: string, seconds: number): Promise<void> {
  await db.query(sql`
    update services set drill_lease_until = now() + ${seconds} * interval '1 second' where service_id = ${service_id}`)
}

/** Those that were asked for first, then those whose last drill is longest ago. */
async function claim(db: Db, regions: readonly string[]): Promise<Claimed | undefined> {
  const [row] = await db.query(sql<Claimed>`
    update services set drill_lease_until = now() + ${lease_seconds} * interval '1 second'
    where service_id = (
      select service_id from services
      where region_code = any (${regions}) and deleted_at is null and settled_generation > 0
        and coalesce(drill_lease_until, '-infinity') <= now()
        and (drill_requested_at > coalesce(drilled_at, '-infinity')
          or coalesce(drilled_at, created) < now() - ${every_hours} * interval '1 hour')
      order by drill_requested_at > coalesce(drilled_at, '-infinity') desc nulls last, coalesce(drilled_at, created)
      limit 1 for update skip locked)
    returning service_id, region_code, drill_error, now()::text as began`)
  return row
}

async function save(db: Db, { service_id, drill_error, began }: Claimed, failed: string | undefined): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query(sql`
      update services set drill_lease_until = null, drilled_at = ${began}::timestamptz, drill_error = ${failed ?? null},
        proven_restorable_at = case when ${failed === undefined} then ${began}::timestamptz else proven_restorable_at end
      where service_id = ${service_id}`)
    if (failed !== undefined && failed !== drill_error) {
      await insertEvent(
        tx,
        service_id,
        'drill',
        `it cannot be restored: ${failed}; take a snapshot, and look after its disk`,
      )
    }
    if (failed === undefined && drill_error !== null)
      await insertEvent(tx, service_id, 'drill', 'it can be restored again')
  })
}
