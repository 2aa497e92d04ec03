// The one way in which a request changes a service: lock its row, check the status, write, tell, nudge; all or nothing.
// The statuses that accept a request come with the place of the service (see handler.ts), so every lock checks them.
import { Fault, notFound, unknown_service } from '#contract/fault.ts'
import type { Acceptable } from '#contract/service-status.ts'
import type { Sql } from '../store/db.ts'
import { findServiceIdOfSet } from './replica-sets.ts'
import { nudge, nudgeAll } from '../work.ts'
import type { ServiceContext } from './context.ts'
import { insertEvent } from '../event.ts'
import { requireStatus } from './rules.ts'
import { findServiceOfProject, lockServiceOfProject, saveWanted, type ServiceRow, type WantedChange } from './store.ts'

export type At = { project_id: string; service_id: string; accepts?: readonly Acceptable[] }

export async function getService(sql: Sql, { project_id, service_id }: At): Promise<ServiceRow> {
  const row = await findServiceOfProject(sql, project_id, service_id)
  if (row === undefined) throw await unknown(sql, { project_id, service_id })
  return row
}

/** The row, locked until the transaction ends, in a status that accepts what is about to happen. */
export async function lockService(tx: Sql, { project_id, service_id, accepts }: At): Promise<ServiceRow> {
  const row = await lockServiceOfProject(tx, project_id, service_id)
  if (row === undefined) throw await unknown(tx, { project_id, service_id })
  if (accepts !== undefined) requireStatus(row, accepts, new Date())
  return row
}

type Change = WantedChange & { event: string }

export async function changeService(
  { db }: ServiceContext,
  at: At,
  changeOf: (row: ServiceRow, tx: Sql) => Change | Promise<Change>,
): Promise<ServiceRow> {
  return db.transaction(async (tx) => {
    const row = await lockService(tx, at)
    const { event, ...wanted } = await changeOf(row, tx)
    await saveWanted(tx, row.service_id, wanted)
    await insertEvent(tx, row.service_id, 'requested', event)
    if (wanted.generation !== undefined) {
      // They stop, start and go with it. Before it, as in a look that settles: all take these rows in one order.
      await nudgeAll(tx, 'replica set', setIdsOf(row))
      await nudge(tx, 'service', row.service_id)
    }
    return { ...row, ...wanted }
  })
}

export function setIdsOf({ replica_sets }: ServiceRow): string[] {
  return replica_sets.map(({ replica_set_id }) => replica_set_id)
}

/** A replica set can be read as a service, but it is none: whoever wants more of it hears where that is. */
async function unknown(sql: Sql, { project_id, service_id: id }: At): Promise<Fault> {
  const service_id = await findServiceIdOfSet(sql, project_id, id)
  if (service_id === undefined) return notFound(unknown_service)
  const place = `/projects/${project_id}/services/${service_id}/replicaSets/${id}`
  return new Fault('INVALID_REQUEST', `${id} is a read replica set of the service ${service_id}; use ${place}`)
}
