// One pass over one read replica set: what is wanted of it comes from its row and its service's, what the provider observed goes
// there, among the events of the service.
import type { ObservedReplicaSet } from '#providers/provider.ts'
import type { Sql } from '../store/db.ts'
import { changesOf, newReconcile, settlesNow } from '../reconcile.ts'
import type { Reconcile } from '../reconciler.ts'
import { getProvider } from '../regions.ts'
import type { ServiceContext } from '../service/context.ts'
import { insertEvent } from '../event.ts'
import { isToBeRemoved, powerOf, wantedOf } from '../service/rules.ts'
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

type Subject = { row: ReplicaSetRow; service: ServiceRow }

export function newReplicaSetReconcile({ db, log, providers, healing }: ServiceContext): Reconcile {
  return newReconcile<Subject, ObservedReplicaSet>({
    log,
    find: async (replica_set_id) => {
      healing.passBegins(replica_set_id)
      const row = await findReplicaSet(db, replica_set_id)
      const service = row && (await findService(db, row.service_id))
      return row && service && { row, service }
    },
    apply: async ({ row, service }, pass) => {
      const { replica_set } = getProvider(providers, service.region_code)
      const observed = await replica_set.apply(wantedSetOf(row, service.vpc_id, wantedOf(service, [])), pass)
      return { ...observed, events: [...healing.eventsOf(row.replica_set_id), ...observed.events] }
    },
    isDeleted: ({ row, service }) => row.deleted || isToBeRemoved(service),
    save: savePass,
    saveSetback: (tx, subject, waiting_for) =>
      savePass(tx, subject, { state: 'unknown', settled: false, waiting_for, events: [] }),
    saveRemoved,
    onSettled: ({ row }, { events }) => healing.told(row.replica_set_id, events),
  })
}

/** The service is not nudged: its passes are frequent while it waits, and the two rows of the queue are never locked at once. */
async function saveRemoved(tx: Sql, { row }: Subject): Promise<void> {
  await lockServiceOfSet(tx, row)
  await insertEvent(tx, row.service_id, 'removed', `replica set ${row.name}: nothing of it is left`)
  await releaseAddresses(tx, row.replica_set_id)
  await removeReplicaSet(tx, row)
  await announceSettled(tx, row.replica_set_id)
}

async function savePass(tx: Sql, { row, service }: Subject, observed: ObservedReplicaSet): Promise<void> {
  const generation = await saveObservedSet(tx, row.replica_set_id, {
    state: observed.state,
    settled_generation: observed.settled ? row.generation : row.settled_generation,
    waiting_for: observed.waiting_for ?? null,
    failing: failingOf(row, { power: powerOf(service) }, observed),
  })
  for (const { kind, message } of [...observed.events, ...changesOf(row, observed)]) {
    await insertEvent(tx, row.service_id, kind, `replica set ${row.name}: ${message}`)
  }
  if (observed.settled) await announceSettled(tx, row.replica_set_id)
  // An attachment that came during the pass has raised the generation, and taken addresses anew.
  if (settlesNow(row, observed) && service.vpc_id === null && generation === row.generation) {
    await releaseAddresses(tx, row.replica_set_id)
  }
}

/**
 * Whether it should serve and does not. Pure. The first copy is no failure, however long it takes: nothing is there before
 * it. But after a copy that failed the set counts as failing until the next copy is done.
 */
export function failingOf(
  { settled_generation }: Pick<ReplicaSetRow, 'settled_generation'>,
  { power }: Pick<ServiceRow, 'power'>,
  { state, failed }: Pick<ObservedReplicaSet, 'state' | 'failed'>,
): boolean | null {
  if (power === 'off' || state === 'serving') return false
  return settled_generation > 0 || state !== 'absent' || failed === true ? true : null
}
