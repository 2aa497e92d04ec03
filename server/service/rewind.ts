// Rewinds and resets: the data of a service give way to those of a moment. The wanted state names the exchange; a provider makes it once.
import { Fault } from '#contract/fault.ts'
import { api } from '#contract/api.ts'
import type { rewind_endpoints } from '#contract/rewind.ts'
import type { Sql } from '../store/db.ts'
import type { Handlers } from '../http/handler.ts'
import { newId } from '../id.ts'
import { getProvider, requireMakeable, requireOffered } from '../regions.ts'
import { restorableOf } from '../snapshot/rules.ts'
import { insertSnapshot, listSnapshots, saveSnapshotDeleted } from '../snapshot/store.ts'
import { type At, lockService, saveChange } from './change.ts'
import type { ServiceContext } from './context.ts'
import { listForksBeingMade } from './copies.ts'
import { parseMoment, requireRestorable } from '../moment.ts'
import { exchangeChange, requireMade, requireStatus } from './rules.ts'
import { lockServiceOfProject, type ServiceRow } from './store.ts'
import type { ServiceView } from './view.ts'

export function rewindHandlers(
  context: ServiceContext,
  viewOf: ServiceView,
): Pick<Handlers, keyof typeof rewind_endpoints> {
  const { db } = context
  return {
    rewindService: ({ params, body }) =>
      db.transaction(async (tx) => {
        const row = await lockForExchange(tx, context, params)
        const at = parseMoment(body.target_time)
        const now = new Date()
        requireRestorable(restorableOf(row, await listSnapshots(tx, row.service_id), now), new Date(at))
        return viewOf(await saveRewind(tx, row, at, `a rewind to ${at}`))
      }),

    undoRewind: ({ params }) =>
      db.transaction(async (tx) => {
        const row = await lockForExchange(tx, context, params)
        const kept = (await listSnapshots(tx, row.service_id)).find(
          ({ kind, deleted_at }) => kind === 'rewind' && deleted_at === null,
        )
        if (kept === undefined) {
          throw new Fault('CONFLICT', 'there is no rewind to undo, or the snapshot of the state before it was deleted')
        }
        if (kept.taken_at === null) {
          throw new Fault('CONFLICT', 'the state before the rewind is still being kept; try again shortly')
        }
        const at = kept.taken_at.toISOString()
        return viewOf(await saveRewind(tx, row, at, `undoing of the rewind, back to ${at}`))
      }),

    resetService: ({ params }) =>
      db.transaction(async (tx) => {
        const row = await lockForExchange(tx, context, params)
        const parent = await lockParent(tx, context, row)
        const { service_id } = row
        const lasting = (await listSnapshots(tx, service_id)).filter(({ deleted_at }) => deleted_at === null)
        const dropped = lasting.map(({ snapshot_id }) => snapshot_id)
        await saveSnapshotDeleted(tx, dropped)
        await insertSnapshot(tx, { snapshot_id: newId(), service_id, kind: 'initial' })
        const change = exchangeChange(row, { exchange_id: newId(), service_id: parent.service_id, dropped })
        const event = `a reset to the present of ${parent.service_id}`
        const source_time = new Date().toISOString()
        const source = { source_strategy: 'NOW', source_snapshot_id: null, source_time } as const
        return viewOf(await saveChange(tx, row, { ...change, ...source, event }))
      }),
  }
}

/** It has data to exchange, and no fork is being made of it: a copy of its present might be one of before or of after. */
async function lockForExchange(tx: Sql, { providers }: ServiceContext, at: At): Promise<ServiceRow> {
  const row = await lockService(tx, at)
  requireOffered(getProvider(providers, row.region_code).facts().rewinds)
  requireMade(row, new Date())
  const [fork] = await listForksBeingMade(tx, row.service_id)
  if (fork !== undefined) {
    throw new Fault('CONFLICT', `the fork ${fork} is being made from it; try again when that is READY`)
  }
  return row
}

/** The state before is kept, and a snapshot of the state after is the newest from then on. */
async function saveRewind(tx: Sql, row: ServiceRow, at: string, event: string): Promise<ServiceRow> {
  const { service_id } = row
  const kept = await insertSnapshot(tx, { snapshot_id: newId(), service_id, kind: 'rewind' })
  await insertSnapshot(tx, { snapshot_id: newId(), service_id, kind: 'now' })
  const exchange = { exchange_id: newId(), service_id, at, kept_as: kept.snapshot_id }
  return await saveChange(tx, row, { ...exchangeChange(row, exchange), event })
}

async function lockParent(tx: Sql, { providers }: ServiceContext, row: ServiceRow): Promise<ServiceRow> {
  const { source_service_id, source_project_id } = row
  if (source_service_id === null || source_project_id === null) {
    throw new Fault('INVALID_REQUEST', 'the service is no fork; rewind takes it back to a moment of its own')
  }
  if (row.replica_set_count > 0) {
    throw new Fault('CONFLICT', 'a fork with read replica sets cannot be reset; delete these first')
  }
  const parent = await lockServiceOfProject(tx, source_project_id, source_service_id)
  if (parent === undefined || parent.deleted_at !== null) {
    throw new Fault('CONFLICT', `its parent ${source_service_id} is gone; rewind takes it back to a moment of its own`)
  }
  if (parent.region_code !== row.region_code) {
    const where = `its parent ${source_service_id} is in region ${parent.region_code}`
    throw new Fault('CONFLICT', `${where}, and a reset copies within one region; fork it again`)
  }
  requireStatus(parent, api.forkService.accepts, new Date())
  const { service } = getProvider(providers, row.region_code)
  requireMakeable(service.refusal({ copy_of: parent.power }))
  return parent
}
