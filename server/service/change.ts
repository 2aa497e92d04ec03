// The one way in which a request changes a service: lock its row, check the status, write, tell, nudge; all or nothing.
// 1. The statuses that accept a request come with the place of the service (see handler.ts), so every lock checks them.
// 2. Only saveChange writes what is wanted of a service, for every request: a resize, an attachment, a snapshot, a fork.
// 3. All take the rows of the queue in one order, so that no two wait for each other: replica sets, service, VPC.
import { Fault, notFound, unknown_service } from '#contract/fault.ts'
import type { Acceptable } from '#contract/service-status.ts'
import type { Sql } from '../store/db.ts'
import { findServiceIdOfSet, raiseSetGenerations } from './replica-sets.ts'
import { nudge, nudgeAll } from '../work.ts'
import type { ServiceContext } from './context.ts'
import { type EventKind, insertEvent } from '../event.ts'
import { requireStatus } from './rules.ts'
import {
  findService,
  findServiceOfProject,
  lockServiceOfProject,
  saveWanted,
  type ServiceRow,
  type WantedChange,
} from './store.ts'

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

type Change = WantedChange & {
  /** Of the kind `requested`: what it is that was requested, without that word. */
  event: string
  /** Unless it is what a request wants of the service itself. */
  event_kind?: EventKind
  /** There is work although no column changes, such as a snapshot to take. */
  needs_pass?: boolean
}

type ChangeOf = (row: ServiceRow, tx: Sql) => Change | Promise<Change>

export async function changeService({ db }: ServiceContext, at: At, changeOf: ChangeOf): Promise<ServiceRow> {
  return db.transaction(async (tx) => {
    const row = await lockService(tx, at)
    return saveChange(tx, row, await changeOf(row, tx))
  })
}

/** The same for a verb that holds when its answer is sent. */
export async function changeServiceNow(context: ServiceContext, at: At, changeOf: ChangeOf): Promise<void> {
  const { db, settled } = context
  const { service_id, generation } = await changeService(context, at, changeOf)
  await settled.wait(service_id, generation, async () => (await findService(db, service_id))?.settled_generation)
}

/** Of a row that this transaction has locked. */
export async function saveChange(tx: Sql, row: ServiceRow, change: Change): Promise<ServiceRow> {
  const { event, event_kind = 'requested', needs_pass = false, ...wanted } = change
  const { service_id } = row
  if (Object.keys(wanted).length > 0) await saveWanted(tx, service_id, wanted)
  // Its replica sets move with it, and stop, start and are removed with it.
  if (wanted.vpc_id !== undefined) await raiseSetGenerations(tx, service_id)
  await insertEvent(tx, service_id, event_kind, event)
  if (wanted.generation !== undefined) await nudgeAll(tx, 'replica set', setIdsOf(row))
  if (wanted.generation !== undefined || needs_pass) await nudge(tx, 'service', service_id)
  if (typeof wanted.vpc_id === 'number') await nudge(tx, 'vpc', String(wanted.vpc_id))
  return { ...row, ...wanted }
}

export function setIdsOf({ replica_sets }: ServiceRow): string[] {
  return replica_sets.map(({ replica_set_id }) => replica_set_id)
}

/** A replica set can be read as a service, but it is none: a request for more is told its path. */
async function unknown(sql: Sql, { project_id, service_id: id }: At): Promise<Fault> {
  const service_id = await findServiceIdOfSet(sql, project_id, id)
  if (service_id === undefined) return notFound(unknown_service)
  const place = `/projects/${project_id}/services/${service_id}/replicaSets/${id}`
  return new Fault('INVALID_REQUEST', `${id} is a read replica set of the service ${service_id}; use ${place}`)
}
