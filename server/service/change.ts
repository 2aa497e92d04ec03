// The one way in which a request changes a service: lock its row, check the status, write, tell, nudge; all or nothing.
import { notFound, unknown_service } from '#contract/fault.ts'
import type { ServiceStatus } from '#contract/service-status.ts'
import type { Sql } from '../db.ts'
import { nudge } from '../work.ts'
import type { ServiceContext } from './context.ts'
import { insertEvent } from './events.ts'
import { requireStatus } from './rules.ts'
import { findServiceOfProject, lockServiceOfProject, saveWanted, type ServiceRow, type WantedChange } from './store.ts'

export type At = { project_id: string; service_id: string }

export async function getService(sql: Sql, { project_id, service_id }: At): Promise<ServiceRow> {
  return found(await findServiceOfProject(sql, project_id, service_id))
}

/** The row, locked until the transaction ends, in a status that accepts what is about to happen. */
export async function lockService(
  tx: Sql,
  { project_id, service_id }: At,
  accepts: readonly ServiceStatus[] | undefined,
): Promise<ServiceRow> {
  const row = found(await lockServiceOfProject(tx, project_id, service_id))
  if (accepts !== undefined) requireStatus(row, accepts, new Date())
  return row
}

export async function changeService(
  { db }: ServiceContext,
  at: At,
  accepts: readonly ServiceStatus[] | undefined,
  changeOf: (row: ServiceRow) => WantedChange & { event: string },
): Promise<ServiceRow> {
  return db.transaction(async (tx) => {
    const row = await lockService(tx, at, accepts)
    const { event, ...wanted } = changeOf(row)
    await saveWanted(tx, row.service_id, wanted)
    await insertEvent(tx, row.service_id, 'requested', event)
    if (wanted.generation !== undefined) await nudge(tx, 'service', row.service_id)
    return { ...row, ...wanted }
  })
}

function found(row: ServiceRow | undefined): ServiceRow {
  if (row === undefined) throw notFound(unknown_service)
  return row
}
