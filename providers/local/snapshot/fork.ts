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
import { isDiskFull, statIfThere } from '../../host/read.ts'
import { withLock } from '../host/lock.ts'
import { nodeOf, type Node } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { findService } from '../postgres/nodes.ts'
import { inForce } from '../postgres/port-in-force.ts'
import { findPostmaster } from '../postgres/process.ts'
import { requireDiskSpace } from '../host/disk-space.ts'
import { failureOf, replaySettings, saveFailure, savePlan, SourceDamaged } from '../wal/replay.ts'
import { findSnapshot, findStart, lastWalFileFor, snapshotData, snapshotJob } from './snapshot.ts'
import { gatherWal } from '../wal/source-wal.ts'
import { findPath } from '../wal/timeline.ts'
import { archiveAt, pgWalOf } from '../wal/wal.ts'
import { replaceFile } from '../host/tenant-files.ts'
import { together } from '../host/together.ts'

export type ObservedFork = { waiting_for: string; failed?: boolean; look_again_seconds: number }

const look_again_soon_seconds = 1
const look_again_seldom_seconds = 60

/** Makes what is not there. Undefined when it is; else what it waits for. */
export async function ensureForked(
  host: Machine,
  node: Node,
  source: ServiceSource,
  meanwhile: () => Promise<void>,
): Promise<ObservedFork | undefined> {
  const failure = await failureOf(node)
  if (failure !== undefined) return failedFor(failure)
  const parent = await parentNode(host, source.service_id)
  await host.jobs.wait(snapshotJob(parent, source.snapshot_id))
  const runs = source.private === true && (await findPostmaster(parent)).postmaster?.ready === true
  if (!runs && !(await hasSnapshot(node, parent, source))) {
    return { waiting_for: 'the snapshot of its parent is being taken', look_again_seconds: look_again_soon_seconds }
  }
  try {
    await host.jobs.ensure(`${node.service_id}/data`, (signal) =>
      make(host, node, parent, { ...source, signal, meanwhile }),
    )
  } catch (error) {
    if (error instanceof CutOff) return { waiting_for: error.message, look_again_seconds: look_again_soon_seconds }
    if (!(error instanceof SourceDamaged)) throw error
    await saveFailure(host.effect, node, error.message)
    return failedFor(error.message)
  }
  if (await statIfThere(node.data)) return undefined
  return { waiting_for: 'the data of its parent is being copied', look_again_seconds: look_again_soon_seconds }
}

/** The parent stopped, or could not answer, while it was copied: the next pass finds it as it is then. */
class CutOff extends Error {
  override readonly name = 'CutOff'
}

const hasSnapshot = async (node: Node, parent: Node, { snapshot_id }: ServiceSource) =>
  (await statIfThere(node.data_moved)) !== undefined || (await findSnapshot(parent, snapshot_id)) !== undefined

const failedFor = (waiting_for: string): ObservedFork => ({
  waiting_for,
  failed: true,
  look_again_seconds: look_again_seldom_seconds,
})

/** Also of a removed service: then no snapshot is found there. */
async function parentNode({ directory, as_root }: Machine, service_id: string): Promise<Node> {
  return (await findService(directory, service_id, as_root)) ?? nodeOf(directory, service_id, 0, as_root)
}

type Making = ServiceSource & { signal: AbortSignal; meanwhile: () => Promise<void> }

async function make(host: Machine, node: Node, parent: Node, source: Making) {
  const { signal } = source
  await withLock(host.effect, node, 'making its data', async () => {
    // Another pass may have finished the work of a killed server.
    if (await statIfThere(node.data)) return
    try {
      const target_time = source.target_time ?? (await momentOfLeft(parent, source))
      if (target_time) return await makeOfMoment(host, node, parent, { ...source, target_time })
      const made = !source.private
        ? await copySnapshot(host, node, parent, source.snapshot_id, signal)
        : (await hasSnapshot(node, parent, source))
          ? await moveSnapshot(host, node, parent, source)
          : await copyParent(host, node, parent, source)
      await replaceFile(made, 'postgresql.auto.conf', '', node)
      await finish(host, node, made)
    } finally {
      // A no-op after the rename; else an unfinished copy gives its space back.
      await ensureRemoved(host.effect, 'unfinished data directory', node.data_aside)
    }
  })
}

/**
 * For a snapshot whose timeline a failover abandoned, because its primary had commits that were lost: its moment, at which the
 * service's own history leads somewhere else. Undefined when the snapshot is of that history, or the history is not there.
 */
async function momentOfLeft(parent: Node, source: ServiceSource): Promise<string | undefined> {
  if (source.private) return undefined
  const path = await pathOf(parent).catch(() => undefined)
  if (path === undefined || (await findStart(parent, path, source.snapshot_id)) === source.snapshot_id) return undefined
  return (await findSnapshot(parent, source.snapshot_id))?.taken_at.toISOString()
}

const pathOf = ({ data, archive }: Node) => findPath(data, [pgWalOf(data), archiveAt(archive)])

type Moment = { snapshot_id: string; target_time: string; signal: AbortSignal }

/** A copy of a snapshot, with what leads PostgreSQL from there to the moment. */
async function makeOfMoment(host: Machine, node: Node, parent: Node, moment: Moment): Promise<void> {
  const { target_time, signal } = moment
  const path = await pathOf(parent)
  const snapshot_id = await findStart(parent, path, moment.snapshot_id)
  const snapshot = snapshot_id === undefined ? undefined : await findSnapshot(parent, snapshot_id)
  if (snapshot_id === undefined || snapshot === undefined) {
    throw new SourceDamaged('no snapshot of its parent leads to that moment any more')
  }
  const made = await copySnapshot(host, node, parent, snapshot_id, signal)
  const last_wal_file = await lastWalFileFor(parent, path, target_time)
  const gathered = await gatherWal(host.effect, node, parent, { snapshot, path, last_wal_file, signal })
  await savePlan(host.effect, node, { ...gathered, target_time })
  await replaceFile(made, 'recovery.signal', '', node)
  await replaceFile(made, 'postgresql.auto.conf', replaySettings(node, path, target_time), node)
  await finish(host, node, made)
}

async function copyParent(host: Machine, node: Node, parent: Node, { signal, meanwhile }: Making): Promise<string> {
  const { effect } = host
  const { data_aside, owner } = node
  await ensureRemoved(effect, 'unfinished data directory', data_aside)
  requireDiskSpace(node.home)
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

/** Taken while the parent stood still, for this fork alone: on a plain file system this halves the cost of a fork. */
async function moveSnapshot({ effect }: Machine, node: Node, parent: Node, source: ServiceSource): Promise<string> {
  if (!(await statIfThere(node.data_moved))) {
    await effect('fork: take over snapshot')
    await rename(snapshotData(parent, source.snapshot_id), node.data_moved)
  }
  if (node.owner) {
    await effect('fork: chown')
    await chownTree(node.data_moved, node.owner)
  }
  return node.data_moved
}

async function copySnapshot(
  { effect }: Machine,
  node: Node,
  parent: Node,
  snapshot_id: string,
  signal: AbortSignal,
): Promise<string> {
  await ensureRemoved(effect, 'unfinished data directory', node.data_aside)
  await effect('fork: copy snapshot')
  await copyTree(snapshotData(parent, snapshot_id), node.data_aside, {
    of_tenant: 'out of its reach',
    keep_reserve: true,
    signal,
    ...(node.owner && { owner: node.owner }),
  })
  return node.data_aside
}

async function finish({ effect }: Machine, node: Node, path: string): Promise<void> {
  // The last of it to be handed over: until now no other user could enter it.
  if (node.owner) lchownSync(path, node.owner.uid, node.owner.gid)
  await effect('fork: make durable')
  await syncTree(path)
  await effect('fork: rename into place')
  await rename(path, node.data)
  await syncOne(node.home)
}
