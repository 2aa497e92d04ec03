// The data directory of a fork: a snapshot of another service, and with a target time the WAL that leads there; or a copy
// of this moment, made right here of a parent that runs. It is made aside and renamed into place; from then on nothing of
// the parent is read again.
//
// A fork keeps its parent's system identifier: it may only be changed on data that needs no recovery, and stopping every
// fork once more for it would double the time to make one. Sharing it is harmless here, because what the identifier guards
// against cannot happen: each service archives into, and restores from, folders of its own, and no service is ever
// told to stream from another one than its own primary.
import { lchownSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import type { ServiceSource } from '../../provider.ts'
import { copyRunning } from './cluster-copy.ts'
import { copyTree } from '../host/copy-tree.ts'
import { chownTree, syncOne, syncTree } from '../host/tree.ts'
import { ensureRemoved } from '../host/effect.ts'
import { isDiskFull, statIfThere } from '../host/look.ts'
import { withHold } from '../host/hold.ts'
import { placeOf, type Place } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { findService } from '../postgres/nodes.ts'
import { inForce } from '../postgres/port-in-force.ts'
import { findPostmaster } from '../postgres/process.ts'
import { requireRoom } from '../host/room.ts'
import { failureOf, replaySettings, saveFailure, savePlan, SourceDamaged } from '../wal/replay.ts'
import { findSnapshot, findStart, lastWalFileFor, snapshotData, snapshotJob } from './snapshot.ts'
import { gatherWal } from '../wal/source-wal.ts'
import { findPath } from '../wal/timeline.ts'
import { archiveAt, pgWalOf } from '../wal/wal.ts'
import { replaceFile } from '../host/tenant-files.ts'
import { together } from '../host/together.ts'

export type ForkSeen = { waiting_for: string; failed?: boolean; look_again_seconds: number }

const look_again_soon_seconds = 1
const look_again_seldom_seconds = 60

/** Makes what is not there. Undefined when it is; else what it waits for. */
export async function ensureForked(
  host: Machine,
  place: Place,
  source: ServiceSource,
  meanwhile: () => Promise<void>,
): Promise<ForkSeen | undefined> {
  const failure = await failureOf(place)
  if (failure !== undefined) return failedFor(failure)
  const parent = await parentPlace(host, source.service_id)
  await host.jobs.wait(snapshotJob(parent, source.snapshot_id))
  const runs = source.private === true && (await findPostmaster(parent)).postmaster?.ready === true
  if (!runs && !(await hasSnapshot(place, parent, source))) {
    return { waiting_for: 'the snapshot of its parent is being taken', look_again_seconds: look_again_soon_seconds }
  }
  try {
    await host.jobs.ensure(`${place.service_id}/data`, (signal) =>
      make(host, place, parent, { ...source, signal, meanwhile }),
    )
  } catch (error) {
    if (error instanceof CutOff) return { waiting_for: error.message, look_again_seconds: look_again_soon_seconds }
    if (!(error instanceof SourceDamaged)) throw error
    await saveFailure(host.effect, place, error.message)
    return failedFor(error.message)
  }
  if (await statIfThere(place.data)) return undefined
  return { waiting_for: 'the data of its parent is being copied', look_again_seconds: look_again_soon_seconds }
}

/** The parent ended, or could not answer, while it was copied: the next look finds it as it is then. */
class CutOff extends Error {
  override readonly name = 'CutOff'
}

const hasSnapshot = async (place: Place, parent: Place, { snapshot_id }: ServiceSource) =>
  (await statIfThere(place.data_moved)) !== undefined || (await findSnapshot(parent, snapshot_id)) !== undefined

const failedFor = (waiting_for: string): ForkSeen => ({
  waiting_for,
  failed: true,
  look_again_seconds: look_again_seldom_seconds,
})

/** Also of one that is gone: then nothing is found there. */
async function parentPlace({ directory, as_root }: Machine, service_id: string): Promise<Place> {
  return (await findService(directory, service_id, as_root)) ?? placeOf(directory, service_id, 0, as_root)
}

type Making = ServiceSource & { signal: AbortSignal; meanwhile: () => Promise<void> }

async function make(host: Machine, place: Place, parent: Place, source: Making) {
  const { signal } = source
  await withHold(host.effect, place, 'making its data', async () => {
    // A look that came meanwhile may have found a killed server's work finished.
    if (await statIfThere(place.data)) return
    try {
      const target_time = source.target_time ?? (await momentOfLeft(parent, source))
      if (target_time) return await makeOfMoment(host, place, parent, { ...source, target_time })
      const made = !source.private
        ? await copySnapshot(host, place, parent, source.snapshot_id, signal)
        : (await hasSnapshot(place, parent, source))
          ? await moveSnapshot(host, place, parent, source)
          : await copyParent(host, place, parent, source)
      await replaceFile(made, 'postgresql.auto.conf', '', place)
      await finish(host, place, made)
    } finally {
      // Nothing when it was renamed into place; what was cut off gives its space back.
      await ensureRemoved(host.effect, 'unfinished data directory', place.data_aside)
    }
  })
}

/**
 * Of a snapshot that a failover has left behind, because its primary had commits that were lost: its moment, at which the
 * service's own history leads somewhere else. Undefined when the snapshot is of that history, or the history is not there.
 */
async function momentOfLeft(parent: Place, source: ServiceSource): Promise<string | undefined> {
  if (source.private) return undefined
  const path = await pathOf(parent).catch(() => undefined)
  if (path === undefined || (await findStart(parent, path, source.snapshot_id)) === source.snapshot_id) return undefined
  return (await findSnapshot(parent, source.snapshot_id))?.taken_at.toISOString()
}

const pathOf = ({ data, archive }: Place) => findPath(data, [pgWalOf(data), archiveAt(archive)])

type Moment = { snapshot_id: string; target_time: string; signal: AbortSignal }

/** A copy of a snapshot, with what leads PostgreSQL from there to the moment. */
async function makeOfMoment(host: Machine, place: Place, parent: Place, moment: Moment): Promise<void> {
  const { target_time, signal } = moment
  const path = await pathOf(parent)
  const snapshot_id = await findStart(parent, path, moment.snapshot_id)
  const snapshot = snapshot_id === undefined ? undefined : await findSnapshot(parent, snapshot_id)
  if (snapshot_id === undefined || snapshot === undefined) {
    throw new SourceDamaged('no snapshot of its parent leads to that moment any more')
  }
  const made = await copySnapshot(host, place, parent, snapshot_id, signal)
  const last_wal_file = await lastWalFileFor(parent, path, target_time)
  const gathered = await gatherWal(host.effect, place, parent, { snapshot, path, last_wal_file, signal })
  await savePlan(host.effect, place, { ...gathered, target_time })
  await replaceFile(made, 'recovery.signal', '', place)
  await replaceFile(made, 'postgresql.auto.conf', replaySettings(place, path, target_time), place)
  await finish(host, place, made)
}

async function copyParent(host: Machine, place: Place, parent: Place, { signal, meanwhile }: Making): Promise<string> {
  const { effect } = host
  const { data_aside, owner } = place
  await ensureRemoved(effect, 'unfinished data directory', data_aside)
  requireRoom(place.home)
  try {
    const from = await inForce(parent)
    const copying = copyRunning(effect, from, data_aside, signal, { owner })
    // There is time for it until the parent's checkpoint is made.
    await together(copying, meanwhile())
    return data_aside
  } catch (error) {
    if (isDiskFull(error) || signal.aborted) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new CutOff(`its parent could not be copied and is tried again: ${reason}`, { cause: error })
  }
}

/** Taken while the parent stood still. Nobody else needs it: on a plain file system this halves the cost of a fork. */
async function moveSnapshot({ effect }: Machine, place: Place, parent: Place, source: ServiceSource): Promise<string> {
  if (!(await statIfThere(place.data_moved))) {
    await effect('fork: take over snapshot')
    await rename(snapshotData(parent, source.snapshot_id), place.data_moved)
  }
  if (place.owner) {
    await effect('fork: chown')
    await chownTree(place.data_moved, place.owner)
  }
  return place.data_moved
}

async function copySnapshot(
  { effect }: Machine,
  place: Place,
  parent: Place,
  snapshot_id: string,
  signal: AbortSignal,
): Promise<string> {
  await ensureRemoved(effect, 'unfinished data directory', place.data_aside)
  await effect('fork: copy snapshot')
  await copyTree(snapshotData(parent, snapshot_id), place.data_aside, {
    of_tenant: 'out of its reach',
    leave_room: true,
    signal,
    ...(place.owner && { owner: place.owner }),
  })
  return place.data_aside
}

async function finish({ effect }: Machine, place: Place, path: string): Promise<void> {
  // The last of it to be handed over: until now no other user could enter it.
  if (place.owner) lchownSync(path, place.owner.uid, place.owner.gid)
  await effect('fork: make durable')
  await syncTree(path)
  await effect('fork: rename into place')
  await rename(path, place.data)
  await syncOne(place.home)
}
