// One look at one service: hand the provider what is wanted, write down what it saw, add its events. The row is the
// only truth; nothing is remembered between two looks.
import type { ObservedService } from '#providers/provider.ts'
import type { Sql } from '../store/db.ts'
import type { Reconcile, Reconciled } from '../reconciler.ts'
import { getProvider } from '../regions.ts'
import { announceSettled } from '../settled.ts'
import { saveSnapshots } from '../snapshot/reconcile.ts'
import { listSnapshots, type SnapshotRow } from '../snapshot/store.ts'
import { releaseAddresses } from '../address.ts'
import { nudge, nudgeAll } from '../work.ts'
import { setIdsOf } from './change.ts'
import type { ServiceContext } from './context.ts'
import { insertEvent } from '../event.ts'
import { wantedOf } from './rules.ts'
import {
  findService,
  listForksBeingMade,
  removeService,
  saveFirstLook,
  saveObserved,
  saveSourceFailed,
  type ServiceRow,
} from './store.ts'

/** Nobody asked and all is well: look again this often, in case something changed unseen. */
const routine_seconds = 300
/** The first time that it serves, its first snapshot is next; whoever waits for the service learns of it before. */
const after_first_seconds = 0.1
/** A snapshot that is due waits at most this long for a look. */
const schedule_seconds = 60
/** Not there yet, and the provider did not say when it may be. */
const unsettled_seconds = 2

/** What a deleted service waits for: it lives on for those, takes the snapshot that they stand on, and then goes. */
const needed_by_forks = {
  settled: false,
  waiting_for: 'forks that are being made still need its data',
  look_again_seconds: unsettled_seconds,
}
const needed_by_sets = { settled: false, waiting_for: 'its replica sets go first', look_again_seconds: 0.2 }

type Subject = { row: ServiceRow; snapshots: SnapshotRow[] }

export function newServiceReconcile(context: ServiceContext): Reconcile {
  const { db, log, providers, healing } = context
  return async (service_id, pass) => {
    healing.looked(service_id)
    const [row, snapshots] = await Promise.all([findService(db, service_id), listSnapshots(db, service_id)])
    if (row === undefined) return { again: 'never', save: async () => {} }
    const subject = { row, snapshots }
    const provider = getProvider(providers, row.region_code)
    try {
      const wanted = wantedOf(row, subject.snapshots)
      const needed = wanted.deleted ? await needOf(db, row) : undefined
      // Nobody waits for it but those who watch. What fails here fails again when the look is written down.
      const first = row.state === 'unknown' && !wanted.deleted
      const noted = first ? saveFirstLook(db, service_id).catch(() => undefined) : undefined
      const seen = await provider.service.apply(needed === undefined ? wanted : { ...wanted, deleted: false }, pass)
      await noted
      const events = [...healing.takeEvents(service_id), ...seen.events]
      return reconciledOf(context, subject, { ...seen, ...needed, events })
    } catch (error) {
      log.error({ err: error, service_id, generation: row.generation }, 'a provider failed')
      const seen = setback(row, 'an unexpected error; the server log has the details, and it is tried again')
      const message = error instanceof Error ? error.message : String(error)
      return { ...reconciledOf(context, subject, seen), again: 'backoff', error: message }
    }
  }
}

async function needOf(sql: Sql, row: ServiceRow) {
  if (row.replica_sets.length > 0) return needed_by_sets
  return (await listForksBeingMade(sql, row.service_id)).length > 0 ? needed_by_forks : undefined
}

function setback(row: ServiceRow, waiting_for: string): ObservedService {
  const state = row.settled_generation === 0 ? 'absent' : 'unknown'
  return { state, settled: false, waiting_for, events: [], snapshots: [] }
}

function reconciledOf(context: ServiceContext, subject: Subject, seen: ObservedService): Reconciled {
  const { row } = subject
  if (row.deleted_at !== null && seen.settled) return { again: 'never', save: (tx) => saveGone(tx, row) }
  const pace = Math.max(schedule_seconds, context.snapshot_policy.interval_seconds)
  const seconds = Math.min(pace, seen.look_again_seconds ?? (seen.settled ? routine_seconds : unsettled_seconds))
  const first_time = seen.settled && row.settled_generation === 0
  return {
    again: { in_seconds: first_time ? after_first_seconds : seconds },
    error: seen.waiting_for,
    save: (tx) => saveSeen(tx, context, subject, seen),
  }
}

async function saveGone(tx: Sql, row: ServiceRow): Promise<void> {
  await releaseAddresses(tx, row.service_id)
  await removeService(tx, row.service_id)
  await insertEvent(tx, row.service_id, 'removed', 'nothing of the service is left')
  await announceSettled(tx, row.service_id)
}

async function saveSeen(tx: Sql, context: ServiceContext, { row, snapshots }: Subject, seen: ObservedService) {
  await saveObserved(tx, row.service_id, {
    state: seen.state,
    settled_generation: seen.settled ? row.generation : row.settled_generation,
    waiting_for: seen.waiting_for ?? null,
    postgres_version: seen.postgres_version ?? null,
  })
  for (const { kind, message } of [...seen.events, ...newEventsOf(row, seen)]) {
    await insertEvent(tx, row.service_id, kind, message)
  }
  if (seen.settled) await announceSettled(tx, row.service_id)
  const settled_now = seen.settled && row.settled_generation < row.generation
  const changed = settled_now || seen.state !== row.state || seen.events.length > 0
  if (changed && row.deleted_at === null) await nudgeAll(tx, 'replica set', setIdsOf(row))
  // Its sets leave by themselves, and give back their own.
  if (settled_now && row.vpc_id === null) await releaseAddresses(tx, row.service_id)
  if (seen.failed === true && !row.source_failed) await saveSourceFailed(tx, row.service_id)
  if (seen.settled && row.settled_generation === 0 && row.source_service_id !== null) {
    // The fork stands on its own now: its parent may drop the private snapshot, or go.
    await nudge(tx, 'service', row.source_service_id, after_first_seconds)
  }
  const progress = await saveSnapshots(tx, { row, snapshots, seen, policy: context.snapshot_policy, now: new Date() })
  if (progress) for (const fork of await listForksBeingMade(tx, row.service_id)) await nudge(tx, 'service', fork)
}

/** What changed between the last look and this one, in words. Pure. */
export function newEventsOf(row: ServiceRow, seen: ObservedService): { kind: string; message: string }[] {
  const events: { kind: string; message: string }[] = []
  if (seen.waiting_for !== undefined && seen.waiting_for !== row.waiting_for) {
    events.push({ kind: 'setback', message: seen.waiting_for })
  }
  const settled_now = seen.settled && row.settled_generation < row.generation
  if (settled_now) events.push({ kind: 'settled', message: `everything wanted holds (generation ${row.generation})` })
  const should_serve = row.settled_generation > 0 && row.power === 'on' && row.deleted_at === null
  // Also after a look that failed: whatever recovers was unstable before.
  const served = row.state === 'serving' || row.state === 'unknown'
  if (should_serve && served && seen.state === 'not_serving' && !settled_now) {
    events.push({ kind: 'unstable', message: 'the service does not answer' })
  }
  if (should_serve && row.state === 'not_serving' && seen.state === 'serving' && !settled_now) {
    events.push({ kind: 'recovered', message: 'the service answers again' })
  }
  return events
}
