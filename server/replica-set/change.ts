// The one way in which a request changes a replica set: lock its service's row and its own, check both statuses, write,
// tell, nudge; all or nothing. All transactions take the rows in this order.
import { notFound, unknown_replica_set } from '#contract/fault.ts'
import type { ReplicaSetStatus } from '#contract/replica-set-status.ts'
import type { Sql } from '../store/db.ts'
import { type At, lockService } from '../service/change.ts'
import type { ServiceContext } from '../service/context.ts'
import { insertEvent } from '../event.ts'
import type { ServiceRow } from '../service/store.ts'
import { nudge } from '../work.ts'
import { requireSetStatus } from './rules.ts'
import { lockReplicaSet, type ReplicaSetChange, type ReplicaSetRow, saveWantedSet } from '../service/replica-sets.ts'

export type SetAt = At & { replica_set_id: string }

type Change = ReplicaSetChange & { event: string }
type ChangeOf = (row: ReplicaSetRow, service: ServiceRow, tx: Sql) => Change | Promise<Change>

export async function changeReplicaSet(
  { db }: ServiceContext,
  at: SetAt,
  accepts: readonly ReplicaSetStatus[] | undefined,
  changeOf: ChangeOf,
): Promise<{ replica_set_id: string; generation: number }> {
  return db.transaction(async (tx) => {
    const service = await lockService(tx, at)
    const row = await lockReplicaSet(tx, service.service_id, at.replica_set_id)
    if (row === undefined) throw notFound(unknown_replica_set)
    if (accepts !== undefined) requireSetStatus(row, accepts)
    const { event, ...wanted } = await changeOf(row, service, tx)
    await saveWantedSet(tx, row.replica_set_id, wanted)
    await insertEvent(tx, service.service_id, 'requested', `replica set ${row.name}: ${event}`)
    if (wanted.generation !== undefined) await nudge(tx, 'replica set', row.replica_set_id)
    return { replica_set_id: row.replica_set_id, generation: wanted.generation ?? row.generation }
  })
}
