// Restore drills: every service that rests is restored once a day, one after the other, and those that were asked for first. What a drill
// finds is written down with the service; a failure, and the first success after it, are events.
import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { messageOf } from '#providers/host/message.ts'
import { isDiskFull, undefinedIfAbsent } from '#providers/host/read.ts'
import { type Backup, type FetchedService, Untried } from '#providers/provider.ts'
import { insertEvent, tellable } from '../event.ts'
import type { Log } from '../log.ts'
import type { Regions } from '../regions.ts'
import { drill_requested, type Settled } from '../settled.ts'
import type { Db } from '../store/db.ts'
import { sql } from '../store/sql.ts'

/** Brings a service back from the repository, up to a moment at least. Undefined: it is not in there yet. */
export type Fetch = (wanted: FetchWanted) => Promise<Fetched | undefined>
/** backup: of its region. */
type FetchWanted = { service_id: string; since: Date; signal: AbortSignal; backup: Backup }
export type Fetched = FetchedService & { remove(): Promise<void> }

/** folder: with what is fetched, by the ids of the services. fetch: absent without a repository. */
type Parts = { db: Db; regions: Regions; log: Log; settled: Settled; folder: string; fetch?: Fetch | undefined }

const poll_ms = 2_000
/** How long what is at rest has no checksum. */
const note_ms = 10_000
/** A new service has its first snapshot by then, from which it can be restored. */
const first_snapshot_minutes = 10
/** So that there is one in each 24 hours, also where there are many services. */
const every_hours = 20
/** A server that is killed while it drills leaves the service to another one after this. */
const lease_seconds = 15
const renew_ms = 5_000

export function startDrills(parts: Parts, every_ms = poll_ms): { close(): Promise<void> } {
  const end = new AbortController()
  const { signal } = end
  const walk = async (step_ms: number, step: () => Promise<void>) => {
    while (await pause(step_ms, true, { signal, ref: false }).catch(() => false)) await step()
  }
  const warn = (failed: string) => (error: unknown) => parts.log.warn({ err: error }, failed)
  let last = Promise.resolve()
  const drill = () => {
    last = last.then(() => drillNext(parts, signal)).catch(warn('a drill could not be made'))
    return last
  }
  const note = async () => {
    for (const { backup } of parts.regions.values()) await backup?.noteChecksums(signal)
  }
  const walking = [walk(every_ms, drill), walk(note_ms, () => note().catch(warn('checksums could not be noted')))]
  const unwatch = parts.settled.watch(drill_requested, () => void drill())
  return {
    close: async () => {
      unwatch()
      end.abort()
      await Promise.all([...walking, last])
    },
  }
}

type Claimed = { service_id: string; region_code: string; drill_error: string | null; began: string }

async function drillNext({ db, regions, log, folder, fetch }: Parts, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await removeLeft(db, folder)
  const drillable = [...regions].flatMap(([region_code, { backup }]) => (backup ? [region_code] : []))
  const claimed = await claim(db, drillable)
  if (claimed === undefined) return
  const { service_id, region_code } = claimed
  const backup = regions.get(region_code)?.backup
  assert(backup, 'only services of these regions are claimed')
  const renewal = setInterval(() => void saveLease(db, service_id, lease_seconds).catch(() => undefined), renew_ms)
  let fetched: Fetched | undefined
  try {
    const fetchOne = async (since: Date) => (fetched = await fetch?.({ service_id, since, signal, backup }))
    const result = await backup.drill(service_id, { signal, fetch: fetchOne }).then(resultOf, resultOfError)
    // What the end of the server cut short is no result; the next server begins anew.
    if (signal.aborted) return await saveLease(db, service_id, 0)
    await save(db, claimed, result)
    log.info({ service_id, ...result }, 'service drilled')
  } finally {
    clearInterval(renewal)
    await fetched?.remove()
  }
}

/** failed: it cannot be restored. untried: whether it can was not tried out. Neither: it can. */
type Result = { failed?: string; untried?: string }

/** What is wrong may be in a file or a database of any name. */
const resultOf = (failed: string | undefined): Result => (failed === undefined ? {} : { failed: tellable(failed) })

function resultOfError(error: unknown): Result {
  const message = tellable(messageOf(error))
  // A drill needs the space of the service once more, a restore elsewhere does not.
  return isDiskFull(error) || error instanceof Untried ? { untried: message } : { failed: message }
}

/** A server that was killed leaves what its drill had fetched, and that service may never be drilled again. */
async function removeLeft(db: Db, folder: string): Promise<void> {
  const fetched = (await readdir(folder).catch(undefinedIfAbsent)) ?? []
  if (fetched.length === 0) return
  const drilled = await db.query(sql<{ service_id: string }>`
    select service_id from services where service_id = any (${fetched}) and drill_lease_until > now()`)
  const left = fetched.filter((name) => !drilled.some(({ service_id }) => service_id === name))
  for (const name of left) await rm(join(folder, name), { recursive: true, force: true })
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
        and (
          select max(taken_at) is not null
            or coalesce(max(requested_at), '-infinity') < now() - ${first_snapshot_minutes} * interval '1 minute'
          from snapshots where snapshots.service_id = services.service_id and snapshots.deleted_at is null)
        and (drill_requested_at > coalesce(drilled_at, '-infinity')
          or coalesce(drilled_at, created) not between now() - ${every_hours} * interval '1 hour' and now())
      order by drill_requested_at > coalesce(drilled_at, '-infinity') desc nulls last, coalesce(drilled_at, created)
      limit 1 for update skip locked)
    returning service_id, region_code, drill_error, now()::text as began`)
  return row
}

async function save(db: Db, { service_id, drill_error, began }: Claimed, { failed, untried }: Result): Promise<void> {
  await db.transaction(async (tx) => {
    if (untried !== undefined) {
      await tx.query(sql`
        update services set drill_lease_until = null, drilled_at = ${began}::timestamptz where service_id = ${service_id}`)
      await insertEvent(tx, service_id, 'drill', `it was not tried out whether it can be restored: ${untried}`)
      return
    }
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
