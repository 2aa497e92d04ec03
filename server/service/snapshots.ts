// The handlers of snapshots, of the restorable window and of the lineage.
import { Fault, notFound, unknown_snapshot } from '#contract/fault.ts'
import { checked } from '#contract/problem.ts'
import type { snapshot_endpoints } from '#contract/snapshot.ts'
import type { Handlers } from '../http/handler.ts'
import { newId } from '../id.ts'
import { getProvider, type Regions, requireOffered } from '../regions.ts'
import { announceSettled, drill_requested } from '../settled.ts'
import { type At, changeService, getService, lockService, saveChange } from './change.ts'
import type { ServiceContext } from './context.ts'
import { listServices, saveDrillRequested, type ServiceRow } from './store.ts'
import { requireMade } from './rules.ts'
import { parsePolicy } from '../snapshot/policy.ts'
import { restorableOf, snapshotView } from '../snapshot/rules.ts'
import { insertSnapshot, listSnapshots, saveSnapshotDeleted } from '../snapshot/store.ts'

const no_snapshot_yet =
  'the first snapshot is not complete yet; moments before it cannot be restored, those after it can'

/** A snapshot does not count towards the disk quota, and may be a copy of all that there is. */
const manual_snapshots_max = 20

export function snapshotHandlers(context: ServiceContext): Pick<Handlers, keyof typeof snapshot_endpoints> {
  const { db, providers } = context
  const offeredTo = (row: ServiceRow) => snapshotsOf(providers, row)
  return {
    listSnapshots: async ({ params }) => {
      const { service_id } = await getService(db, params)
      return (await listSnapshots(db, service_id)).map(snapshotView)
    },

    takeSnapshot: ({ params }) => takeSnapshot(context, params),
    deleteSnapshot: ({ params }) => deleteSnapshot(context, params, params.snapshot_id),

    setSnapshotPolicy: async ({ params, body }) => {
      const policy = checked((problems) => parsePolicy(body, problems))
      const said =
        body.every === undefined
          ? 'snapshots are taken as the installation says'
          : `a snapshot is taken every ${body.every} and kept for ${body.keep}`
      await changeService(context, params, (row) => {
        requireOffered(offeredTo(row))
        return { ...policy, event: said, needs_pass: true }
      })
      return { message: said }
    },

    drillService: ({ params }) =>
      db.transaction(async (tx) => {
        const service = await lockService(tx, params)
        requireOffered(getProvider(context.providers, service.region_code).facts().drills)
        await saveDrillRequested(tx, service.service_id)
        await announceSettled(tx, drill_requested)
        await saveChange(tx, service, { event: 'a restore drill' })
        return { message: 'the drill begins within seconds; protection of the service has its result' }
      }),

    getRestorable: async ({ params }) => {
      const row = await getService(db, params)
      const offered = offeredTo(row)
      if (!offered.offered) return { waiting_for: offered.reason }
      const window = restorableOf(row, await listSnapshots(db, row.service_id), new Date())
      if (window === undefined) return { waiting_for: no_snapshot_yet }
      return { restorable_from: window.from.toISOString(), restorable_until: window.until.toISOString() }
    },

    getLineage: async ({ params }) => {
      const rows = await listServices(db, params.project_id)
      const ids = new Set(rows.map((row) => row.service_id))
      return rows.map((row) => lineageNode(row, ids))
    },
  }
}

const snapshotsOf = (providers: Regions, { region_code }: ServiceRow) =>
  getProvider(providers, region_code).facts().snapshots

async function takeSnapshot({ db, providers }: ServiceContext, at: At) {
  return await db.transaction(async (tx) => {
    const service = await lockService(tx, at)
    const { service_id } = service
    requireOffered(snapshotsOf(providers, service))
    requireMade(service, new Date())
    const kept = (await listSnapshots(tx, service_id)).filter((one) => one.kind === 'manual' && !one.deleted_at)
    if (kept.length >= manual_snapshots_max) {
      const limit = `a service has at most ${manual_snapshots_max} manual snapshots; delete one first`
      throw new Fault('QUOTA_EXCEEDED', limit)
    }
    const row = await insertSnapshot(tx, { snapshot_id: newId(), service_id, kind: 'manual' })
    await saveChange(tx, service, { event: `the snapshot ${row.snapshot_id}`, needs_pass: true })
    return snapshotView(row)
  })
}

async function deleteSnapshot({ db }: ServiceContext, at: At, snapshot_id: string): Promise<void> {
  await db.transaction(async (tx) => {
    const service = await lockService(tx, at)
    const { service_id } = service
    const rows = await listSnapshots(tx, service_id)
    const row = rows.find((one) => one.snapshot_id === snapshot_id)
    if (row === undefined) throw notFound(unknown_snapshot)
    if (row.deleted_at !== null) return
    const lasting = rows.filter((one) => one.taken_at !== null && one.deleted_at === null)
    if (lasting.length === 1 && lasting[0] === row) {
      throw new Fault('CONFLICT', 'this is the last complete snapshot; take another one first')
    }
    if (row.in_use) {
      throw new Fault('CONFLICT', 'a fork is being made from this snapshot; delete it when the fork is READY')
    }
    await saveSnapshotDeleted(tx, [snapshot_id])
    await saveChange(tx, service, { event: `deletion of the snapshot ${snapshot_id}`, needs_pass: true })
  })
}

function lineageNode(row: ServiceRow, ids: ReadonlySet<string>) {
  const node = { service_id: row.service_id, name: row.name, created: row.created.toISOString() }
  if (row.source_service_id === null || row.source_strategy === null) return node
  const forked_from = {
    service_id: row.source_service_id,
    fork_strategy: row.source_strategy,
    exists: ids.has(row.source_service_id),
  }
  if (row.source_time === null) return { ...node, forked_from }
  return { ...node, forked_from: { ...forked_from, moment: row.source_time } }
}
