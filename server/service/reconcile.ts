// One pass over one service: what is wanted of it comes from its row and its snapshots, what the provider observed goes there, with
// its events.
import type { ObservedService } from '#providers/provider.ts'
import type { Sql } from '../store/db.ts'
import { changesOf, isSetback, newReconcile, settlesNow, unsettled_seconds } from '../reconcile.ts'
import type { Reconcile } from '../reconciler.ts'
import { getProvider } from '../regions.ts'
import { announceSettled } from '../settled.ts'
import { policyOf } from '../snapshot/policy.ts'
import { saveSnapshots, snapshotPaceOf } from '../snapshot/reconcile.ts'
import { listSnapshots, type SnapshotRow } from '../snapshot/store.ts'
import { releaseAddresses } from '../address.ts'
import { nudge, nudgeAll } from '../work.ts'
import { setIdsOf } from './change.ts'
import { acrossOf } from './across.ts'
import type { ServiceContext } from './context.ts'
import { listForksBeingMade, saveExchangeRefused, saveSourceFailed } from './copies.ts'
import { insertEvent } from '../event.ts'
import { saveEnded } from './endings.ts'
import { isToBeRemoved, wantedOf } from './rules.ts'
import { findService, removeService, saveFirstPass, saveObserved, saveRestorable, type ServiceRow } from './store.ts'

/** After the first pass in which it serves, its first snapshot is next; callers that wait for the service learn of it before. */
const after_first_seconds = 0.1
/** A snapshot that is due waits at most this long for a pass, unless the service waits for it. */
const schedule_seconds = 60
/** What a deleted service waits for: it lives on for those, takes the snapshot that they stand on, and then goes. */
const needed_by_forks = {
  settled: false,
  waiting_for: 'forks that are being made still need its data',
  look_again_seconds: unsettled_seconds,
}
const needed_by_sets = { settled: false, waiting_for: 'its replica sets go first', look_again_seconds: 0.2 }

type Subject = { row: ServiceRow; snapshots: SnapshotRow[] }

export function newServiceReconcile(context: ServiceContext): Reconcile {
  const { db, log, providers, healing, snapshot_policy } = context
  return newReconcile<Subject, ObservedService>({
    log,
    find: async (service_id) => {
      healing.passBegins(service_id)
      const [row, snapshots] = await Promise.all([findService(db, service_id), listSnapshots(db, service_id)])
      return row && { row, snapshots }
    },
    apply: async ({ row, snapshots }, pass) => {
      const { service_id, region_code } = row
      const own = wantedOf(row, snapshots)
      const wanted = { ...own, ...(await acrossOf(context, row, own)) }
      const needed = wanted.deleted ? await needOf(db, row) : undefined
      // For callers that watch. What fails here fails again when the pass is written down.
      const first = row.state === 'unknown' && !wanted.made && !wanted.deleted
      const noted = first ? saveFirstPass(db, service_id).catch(() => undefined) : undefined
      const { service } = getProvider(providers, region_code)
      const observed = await service.apply(needed === undefined ? wanted : { ...wanted, deleted: false }, pass)
      await noted
      return { ...observed, ...needed, events: [...healing.eventsOf(service_id), ...observed.events] }
    },
    isDeleted: ({ row }) => isToBeRemoved(row),
    paceOf: (subject, observed, seconds) => {
      const { row } = subject
      if (observed.settled && row.settled_generation === 0) return after_first_seconds
      const pace_seconds = Math.max(schedule_seconds, policyOf(row, snapshot_policy).interval_seconds)
      return Math.min(pace_seconds, seconds, snapshotPaceOf(passOver(context, subject, observed)))
    },
    save: (tx, subject, observed) => savePass(tx, context, subject, observed),
    saveSetback: (tx, subject, waiting_for) => savePass(tx, context, subject, setback(subject.row, waiting_for)),
    saveRemoved: (tx, { row }) => saveRemoved(tx, row),
    onSettled: ({ row }, { events }) => healing.told(row.service_id, events),
  })
}

async function needOf(sql: Sql, row: ServiceRow) {
  if (row.replica_sets.length > 0) return needed_by_sets
  return (await listForksBeingMade(sql, row.service_id)).length > 0 ? needed_by_forks : undefined
}

function setback(row: ServiceRow, waiting_for: string): ObservedService {
  const state = row.settled_generation === 0 ? 'absent' : 'unknown'
  return { state, settled: false, waiting_for, events: [], snapshots: [] }
}

async function saveRemoved(tx: Sql, row: ServiceRow): Promise<void> {
  await insertEvent(tx, row.service_id, 'removed', 'nothing of the service is left')
  // Its parent may have let it in, and shuts after it.
  const parent = row.settled_generation === 0 && row.source_service_id
  if (parent && (await findService(tx, parent))) await nudge(tx, 'service', parent)
  await releaseAddresses(tx, row.service_id)
  await removeService(tx, row.service_id)
  await announceSettled(tx, row.service_id)
}

/**
 * Rows first, then events, then nudges: so do requests. A pass that has rows of the queue while it waits for its project's turn to add an
 * event would wait for a request that has the turn and nudges those.
 */
async function savePass(tx: Sql, context: ServiceContext, { row, snapshots }: Subject, observed: ObservedService) {
  const { service_id } = row
  const { shape_generation, ended } = await saveRows(tx, row, observed)
  for (const { kind, message } of [...ended, ...observed.events, ...newEventsOf(row, observed)]) {
    await insertEvent(tx, service_id, kind, message)
  }
  const saved = await saveSnapshots(tx, passOver(context, { row, snapshots }, observed))
  if (observed.settled) await announceSettled(tx, service_id)
  await nudgeOthers(tx, row, observed, saved)
  // Its sets leave by themselves, and give back their own. An attachment that came during the pass has taken addresses anew.
  if (settlesNow(row, observed) && row.vpc_id === null && shape_generation === row.shape_generation) {
    await releaseAddresses(tx, service_id)
  }
}

async function saveRows(tx: Sql, row: ServiceRow, observed: ObservedService) {
  const { service_id } = row
  const shape_generation = await saveObserved(tx, service_id, {
    state: observed.state,
    settled_generation: observed.settled ? row.generation : row.settled_generation,
    waiting_for: observed.waiting_for ?? null,
    postgres_version: versionIn(observed),
    failing: isSetback(observed),
  })
  if (observed.failed === true && !row.source_failed) await saveSourceFailed(tx, service_id)
  if (observed.exchange_refused === row.exchange?.exchange_id && row.exchange) await saveExchangeRefused(tx, service_id)
  if (observed.restorable !== undefined) await saveRestorable(tx, row, observed.restorable)
  const ends_now = observed.settled && row.kept_until !== null && row.ended_at === null
  const has_ended = ends_now && (await saveEnded(tx, service_id))
  const message = `it has ended; until ${row.kept_until?.toISOString()} it can be restored`
  return { shape_generation, ended: has_ended ? [{ kind: 'kept', message }] : [] }
}

/** Null where a tenant's program, in place of its server, said something else: a version is a fact, also for agents. */
export const versionIn = ({ postgres_version = '' }: Pick<ObservedService, 'postgres_version'>): string | null =>
  /^\d{1,3}(\.\d{1,3}){0,3}((devel|alpha|beta|rc)\d{0,3})?$/.test(postgres_version) ? postgres_version : null

/** The passes that wait for what this one observed. taken, scheduled: whether snapshots were. */
async function nudgeOthers(
  tx: Sql,
  row: ServiceRow,
  observed: ObservedService,
  { taken, scheduled }: { taken: boolean; scheduled: boolean },
) {
  const { service_id, source_service_id } = row
  const changed = settlesNow(row, observed) || observed.state !== row.state || observed.events.length > 0
  if (changed && row.deleted_at === null) await nudgeAll(tx, 'replica set', setIdsOf(row))
  if (scheduled) await nudge(tx, 'service', service_id)
  // A fork that stands on its own: its parent may take the snapshot that it leaves, or go.
  if (observed.settled && row.settled_generation === 0 && source_service_id !== null)
    await nudge(tx, 'service', source_service_id, after_first_seconds)
  if (taken) await nudgeAll(tx, 'service', await listForksBeingMade(tx, service_id))
}

const passOver = (
  { providers, snapshot_policy }: ServiceContext,
  { row, snapshots }: Subject,
  observed: ObservedService,
) => ({
  row,
  snapshots,
  observed,
  policy: policyOf(row, snapshot_policy),
  is_offered: getProvider(providers, row.region_code).facts().snapshots.offered,
  now: new Date(),
})

/** Pure. */
function newEventsOf(row: ServiceRow, observed: ObservedService): { kind: string; message: string }[] {
  const events = changesOf(row, observed)
  const should_serve = row.settled_generation > 0 && row.power === 'on' && row.deleted_at === null
  if (!should_serve || settlesNow(row, observed)) return events
  // Also after a pass that failed: a service that recovers was unstable before.
  const served = row.state === 'serving' || row.state === 'unknown'
  if (served && observed.state === 'not_serving') {
    events.push({ kind: 'unstable', message: 'the service does not answer' })
  }
  if (row.state === 'not_serving' && observed.state === 'serving') {
    events.push({ kind: 'recovered', message: 'the service answers again' })
  }
  return events
}
