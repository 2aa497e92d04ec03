// The snapshots of a service: those that are wanted are taken by the operator's plugin, those that are not wanted any more leave the
// store with the WAL that only they needed. A store that does not answer delays both, and nothing else of the service.
import type { ObservedEvent, ObservedService, Pass, WantedService } from '../../provider.ts'
import type { Backup } from '../api/kinds.ts'
import { type Cell, type Change, make } from '../cell.ts'
import { type Look, named } from '../cluster/look.ts'
import { readStatus } from '../cluster/status.ts'
import { backupOf, bytes_annotation, type ServiceNames, snapshot_label, taken_annotation } from '../names.ts'
import { prefixOf } from './store-objects.ts'
import type { Status } from '../store/archives.ts'
import { type Store, StoreTrouble } from '../store/store.ts'
import { backupManifest, infoOf, isEnded, majorIn, snapshotsOf, takenOf } from './backup.ts'
import { removeCopy, withdrawalOf } from './removal.ts'

type Part = Pick<ObservedService, 'snapshots' | 'restorable' | 'events' | 'look_again_seconds'>

/** A copy that failed is tried again after so long. */
const retry_seconds = 60
/** While WAL is written, for the next moment that may have reached the store. */
const archive_seconds = 60

/** `is_serving`: only then a copy can be made. */
export async function applySnapshots(
  cell: Cell & { store: Store },
  wanted: WantedService,
  names: ServiceNames,
  { lookNow, is_serving, pass }: { lookNow: () => Look; is_serving: boolean; pass: Pass | undefined },
): Promise<Part> {
  const { service_id, snapshots } = wanted
  const events: ObservedEvent[] = []
  let trouble: string | undefined
  try {
    for (const backup of lookNow().backups) {
      if (isWanted(wanted, backup)) {
        await make(cell, await changeOf(cell, names, backup, events), pass)
      } else {
        await make(cell, withdrawalOf(names, backup), pass)
        await make(cell, await removeCopy(cell, names, backup, lookNow().backups), pass)
      }
    }
    const missing = snapshots.filter(
      ({ snapshot_id, deleted }) => !deleted && !named(lookNow().backups, backupOf(snapshot_id)),
    )
    const taken = missing.map(({ snapshot_id }): Change => ({
      effect: 'snapshot: apply',
      apply: backupManifest(names, snapshot_id),
    }))
    if (is_serving) await make(cell, taken, pass)
  } catch (error) {
    if (!(error instanceof StoreTrouble)) throw error
    trouble = error.message
    cell.log({ service_id, err: error }, 'the snapshots of a service wait for the object store')
  }
  const { backups } = lookNow()
  const is_archived = is_serving && backups.some((one) => takenOf(one) !== undefined)
  const writes = is_archived && (await noteArchive(cell, service_id, lookNow()))
  const observed = snapshotsOf(snapshots, backups, cell.archives.provenOf(service_id))
  const waits = trouble !== undefined || backups.some((one) => one.status?.phase === 'failed')
  const look_again_seconds = waits ? retry_seconds : writes ? archive_seconds : undefined
  return { ...observed, events, ...(look_again_seconds !== undefined && { look_again_seconds }) }
}

function isWanted({ snapshots }: WantedService, { metadata }: Backup): boolean {
  const snapshot_id = metadata.labels?.[snapshot_label]
  return snapshots.some((one) => one.snapshot_id === snapshot_id && !one.deleted)
}

/** What a complete one says of itself is written on it once; a failed one makes place for another try. */
async function changeOf(
  { store }: { store: Store },
  names: ServiceNames,
  backup: Backup,
  events: ObservedEvent[],
): Promise<Change[]> {
  const { metadata, status } = backup
  const ref = { kind: 'Backup' as const, namespace: names.namespace, name: metadata.name }
  if (!isEnded(backup) || takenOf(backup) !== undefined) return []
  if (status?.phase === 'failed') {
    if (Date.now() - Date.parse(status.reconciliationTerminatedAt ?? '') < retry_seconds * 1000) return []
    events.push({ kind: 'setback', message: `a snapshot failed and is tried again: ${status.error ?? 'no reason'}` })
    return [{ effect: 'snapshot: remove', remove: ref }]
  }
  const text = await store.read(`${prefixOf(store.settings, names)}base/${status?.backupId}/backup.info`)
  const info = infoOf(text ?? '')
  if (info === undefined) throw new StoreTrouble(`the object store has no description of ${metadata.name}`)
  const annotations = {
    [taken_annotation]: info.taken_at.toISOString(),
    [bytes_annotation]: String(info.size_bytes),
  }
  return [{ effect: 'snapshot: note', merge: ref, patch: { metadata: { annotations } } }]
}

/** The major version of what a service has in the store; undefined: it has no copy there. */
export async function readStoredMajor(store: Store, names: ServiceNames): Promise<number | undefined> {
  const keys = await store.list(`${prefixOf(store.settings, names)}base/`)
  const info = keys.find((key) => key.endsWith('/backup.info'))
  return info === undefined ? undefined : majorIn((await store.read(info)) ?? '')
}

/** True: WAL was written since the last time. */
async function noteArchive(cell: Cell, service_id: string, look: Look): Promise<boolean> {
  const at = new Date()
  const text = await readStatus(cell, look)
  // What the instance manager of the operator says; missing members are none.
  return text !== undefined && cell.archives.note(service_id, JSON.parse(text) as Status, at)
}
