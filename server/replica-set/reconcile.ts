// One look at one read replica set: hand the provider what is wanted of it and of its service, write down what it saw,
// among the events of the service. Nothing is remembered between two looks.
import type { ObservedReplicaSet } from '#providers/provider.ts'
import type { Sql } from '../store/db.ts'
import type { Reconcile, Reconciled } from '../reconciler.ts'
import { getProvider } from '../regions.ts'
import type { ServiceContext } from '../service/context.ts'
import { insertEvent } from '../event.ts'
import { wantedOf } from '../service/rules.ts'
import { findService, type ServiceRow } from '../service/store.ts'
import { announceSettled } from '../settled.ts'
import { releaseAddresses } from '../address.ts'
import { wantedSetOf } from './rules.ts'
import {
  findReplicaSet,
  lockServiceOfSet,
  removeReplicaSet,
  type ReplicaSetRow,
  saveObservedSet,
} from '../service/replica-sets.ts'

/** Nobody asked and all is well: look again this often, in case something changed unseen. */
const routine_seconds = 300
/** Not there yet, and the provider did not say when it may be. */
const unsettled_seconds = 2

type Subject = { row: ReplicaSetRow; service: ServiceRow }

export function newReplicaSetReconcile({ db, log, providers, healing }: ServiceContext): Reconcile {
  return async (replica_set_id, pass) => {
    healing.looked(replica_set_id)
    const row = await findReplicaSet(db, replica_set_id)
    const service = row && (await findService(db, row.service_id))
    if (row === undefined || service === undefined) return { again: 'never', save: async () => {} }
    const subject = { row, service }
    const provider = getProvider(providers, service.region_code)
    try {
      const seen = await provider.replica_set.apply(wantedSetOf(row, service.vpc_id, wantedOf(service, [])), pass)
      const events = [...healing.takeEvents(replica_set_id), ...seen.events]
      return reconciledOf(subject, { ...seen, events })
    } catch (error) {
      log.error({ err: error, replica_set_id, generation: row.generation }, 'a provider failed')
      const seen = setback('an unexpected error; the server log has the details, and it is tried again')
      const message = error instanceof Error ? error.message : String(error)
      return { ...reconciledOf(subject, seen), again: 'backoff', error: message }
    }
  }
}

function setback(waiting_for: string): ObservedReplicaSet {
  return { state: 'unknown', settled: false, waiting_for, events: [] }
}

function reconciledOf(subject: Subject, seen: ObservedReplicaSet): Reconciled {
  const { row, service } = subject
  if ((row.deleted || service.deleted_at !== null) && seen.settled) {
    // The service is not nudged: it looks often while it waits, and the two rows of the queue are never held at once.
    return { again: 'never', save: (tx) => saveGone(tx, row) }
  }
  return {
    again: { in_seconds: seen.look_again_seconds ?? (seen.settled ? routine_seconds : unsettled_seconds) },
    error: seen.waiting_for,
    save: (tx) => saveSeen(tx, subject, seen),
  }
}

async function saveGone(tx: Sql, row: ReplicaSetRow): Promise<void> {
  await lockServiceOfSet(tx, row)
  await releaseAddresses(tx, row.replica_set_id)
  await removeReplicaSet(tx, row)
  await insertEvent(tx, row.service_id, 'removed', `replica set ${row.name}: nothing of it is left`)
}

async function saveSeen(tx: Sql, { row, service }: Subject, seen: ObservedReplicaSet): Promise<void> {
  await saveObservedSet(tx, row.replica_set_id, {
    state: seen.state,
    settled_generation: seen.settled ? row.generation : row.settled_generation,
    waiting_for: seen.waiting_for ?? null,
    failing: failingOf(row, service, seen),
  })
  for (const { kind, message } of [...seen.events, ...newEventsOf(row, seen)]) {
    await insertEvent(tx, row.service_id, kind, `replica set ${row.name}: ${message}`)
  }
  if (seen.settled) await announceSettled(tx, row.replica_set_id)
  const settled_now = seen.settled && row.settled_generation < row.generation
  if (settled_now && service.vpc_id === null) await releaseAddresses(tx, row.replica_set_id)
}

/**
 * Whether it should serve and does not. Pure. The first copy is no failure, however long it takes: nothing is there before
 * it. But after one that failed the next is no success before it is done.
 */
export function failingOf(
  { settled_generation }: Pick<ReplicaSetRow, 'settled_generation'>,
  { power }: Pick<ServiceRow, 'power'>,
  { state, failed }: Pick<ObservedReplicaSet, 'state' | 'failed'>,
): boolean | null {
  if (power === 'off' || state === 'serving') return false
  return settled_generation > 0 || state !== 'absent' || failed === true ? true : null
}

/** What changed between the last look and this one, in words. Pure. */
function newEventsOf(row: ReplicaSetRow, seen: ObservedReplicaSet): { kind: string; message: string }[] {
  const events: { kind: string; message: string }[] = []
  if (seen.waiting_for !== undefined && seen.waiting_for !== row.waiting_for) {
    events.push({ kind: 'setback', message: seen.waiting_for })
  }
  if (seen.settled && row.settled_generation < row.generation) {
    events.push({ kind: 'settled', message: `everything wanted holds (generation ${row.generation})` })
  }
  return events
}
