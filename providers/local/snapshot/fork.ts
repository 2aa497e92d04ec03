// The data directory of a fork: one moment of another service. A snapshot is copied; a time is a snapshot before it with the WAL that
// leads there; now is a copy of the parent, by its server while it runs and else by its files. It is made aside and
// renamed into place; from then on nothing of the parent is read again.
//
// A fork keeps its parent's system identifier: it may only be changed on data that needs no recovery, and stopping every
// fork once more for it would double the time to make one. Sharing it is harmless here, because what the identifier guards
// against cannot happen: each service archives into, and restores from, folders of its own, and no service is ever
// told to stream from another one than its own primary.
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { messageOf } from '../../host/message.ts'
import type { ServiceSource, WantedService } from '../../provider.ts'
import { copyRunning, copyStopped } from './cluster-copy.ts'
import { type Fetched, findFetched } from './fetched.ts'
import { copyData } from './fetched-data.ts'
import { copyTree } from '../host/copy-tree.ts'
import { effectInTurn, ensureRemoved } from '../host/effect.ts'
import { isDiskFull, statIfThere } from '../../host/read.ts'
import { takeLock, withLock } from '../host/lock.ts'
import { foldersOf, look_again_without_space_seconds, nodeOf, noSpaceSentence, type Node } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { putDataInPlace } from '../postgres/data-in-place.ts'
import { findService, isReplaceable } from '../postgres/nodes.ts'
import { inForce } from '../postgres/port-in-force.ts'
import { ensureStopped, findPostmaster, readyPostmaster } from '../postgres/process.ts'
import { requireDiskSpace } from '../host/disk-space.ts'
import { failureOf, replaySettings, saveFailure, savePlan, SourceDamaged } from '../wal/replay.ts'
import { snapshotJob } from './snapshot.ts'
import { findSnapshot, readSnapshot, snapshotData } from './stored.ts'
import { findStart, findWay, lastWalFileFor } from './way.ts'
import { gatherWal } from '../wal/source-wal.ts'
import { replaceFile } from '../host/tenant-files.ts'
import { together } from '../../host/together.ts'
import { inTurn } from '../../host/turn.ts'

export type ObservedFork = { waiting_for: string; in_progress?: true; failed?: boolean; look_again_seconds: number }

const look_again_soon_seconds = 1
const look_again_seldom_seconds = 60
const lock_poll_ms = 100

/** `fetched`: what a copy elsewhere gave back, of a service that need not be here. */
type Source = ServiceSource | { service_id: string; moment: { fetched: Fetched } }
type AnyMoment = Source['moment']

/** `parent`: as it was last wanted here; absent: that is not known. */
type Meanwhile = { parent: WantedService | undefined; meanwhile: () => Promise<void> }

/** Where the data of a new service come from; undefined: it has some, or is an empty database. */
export async function findSource({ effect }: Machine, node: Node, wanted: WantedService): Promise<Source | undefined> {
  if (await statIfThere(node.data)) {
    await ensureRemoved(effect, 'fetched service', node.fetched)
    return undefined
  }
  const fetched = await findFetched(node)
  return fetched ? { service_id: node.service_id, moment: { fetched } } : wanted.source
}

/** Makes the data unless it exists. Undefined when it does; else what it waits for. */
export async function ensureForked(
  host: Machine,
  node: Node,
  { service_id, moment }: Source,
  meanwhile: Meanwhile,
): Promise<ObservedFork | undefined> {
  const failure = await failureOf(node)
  if (failure !== undefined) return failedFor(failure)
  const parent = await parentNode(host, service_id)
  const lacks = await lackOf(host, parent, moment)
  if (lacks !== undefined) return progress(lacks)
  try {
    // Data that is made ready beside the data in force has a folder, and so a name, of its own.
    await host.jobs.ensure(`${node.service_id}/${basename(node.home)}/data`, (signal) =>
      make(host, node, parent, { ...meanwhile, moment, signal }),
    )
  } catch (error) {
    if (error instanceof CutOff) return { waiting_for: error.message, look_again_seconds: look_again_soon_seconds }
    if (isDiskFull(error)) {
      return { waiting_for: noSpaceSentence(host.directory), look_again_seconds: look_again_without_space_seconds }
    }
    if (!(error instanceof SourceDamaged)) throw error
    await saveFailure(host.effect, node, error.message)
    return failedFor(error.message)
  }
  if (await statIfThere(node.data)) return undefined
  // Its own in a rewind, and where it comes back from a backup.
  return progress(`${service_id === node.service_id ? 'its data' : 'the data of its parent'} is being copied`)
}

const progress = (waiting_for: string): ObservedFork => ({
  waiting_for,
  in_progress: true,
  look_again_seconds: look_again_soon_seconds,
})

/** The parent stopped, or could not answer, while it was copied: the next pass finds it as it is then. */
class CutOff extends Error {
  override readonly name = 'CutOff'
}

/** It can never be made. */
export const failedFor = (waiting_for: string): ObservedFork => ({
  waiting_for,
  failed: true,
  look_again_seconds: look_again_seldom_seconds,
})

/** Also of a removed service: then no snapshot is found there. */
async function parentNode({ directory, as_root }: Machine, service_id: string): Promise<Node> {
  return (await findService(directory, service_id, as_root)) ?? nodeOf(directory, service_id, 0, as_root)
}

/** What the parent lacks yet, as a sentence. */
async function lackOf(host: Machine, parent: Node, moment: AnyMoment): Promise<string | undefined> {
  if (moment !== 'now' && 'fetched' in moment) return undefined
  if (moment === 'now' || 'at' in moment) {
    return (await statIfThere(parent.data)) ? undefined : 'the data of its parent is not there'
  }
  await host.jobs.wait(snapshotJob(parent, moment.snapshot_id))
  const found = await findSnapshot(parent, moment.snapshot_id)
  return found ? undefined : 'the snapshot of its parent is being taken'
}

type Making = Meanwhile & { moment: AnyMoment; signal: AbortSignal }

async function make(host: Machine, node: Node, parent: Node, making: Making) {
  await withLock(host.effect, node, 'making its data', async () => {
    // Another pass may have finished the work of a killed server.
    if (await statIfThere(node.data)) return
    try {
      await copyMoment(host, node, parent, making)
      await finish(host, node)
    } finally {
      // A no-op after the rename; else an unfinished copy gives its space back.
      await ensureRemoved(host.effect, 'unfinished data directory', node.data_aside)
    }
  })
}

async function copyMoment(host: Machine, node: Node, parent: Node, making: Making): Promise<void> {
  const { moment, signal } = making
  if (moment === 'now') {
    await copyParent(host, node, parent, making)
  } else if ('fetched' in moment) {
    return await copyFetched(host, node, moment.fetched, signal)
  } else if ('at' in moment) {
    return await copyTime(host, node, parent, { time: moment.at, signal })
  } else {
    const time = await timeOfDiverged(parent, moment.snapshot_id)
    if (time !== undefined) return await copyTime(host, node, parent, { time, signal })
    await copySnapshot(host, node, parent, moment.snapshot_id, signal)
  }
  await replaceFile(node.data_aside, 'postgresql.auto.conf', '', node)
}

async function copyFetched(host: Machine, node: Node, fetched: Fetched, signal: AbortSignal): Promise<void> {
  const { snapshot_id, snapshot_folder, wal_folder, at } = fetched
  const facts = await readSnapshot(snapshot_folder)
  if (facts === undefined) throw new SourceDamaged(`the snapshot ${snapshot_id} in the backup is not whole`)
  const source = { facts, snapshot_data: join(snapshot_folder, 'data'), wal_folder, keep: true, at, signal }
  await copyData(host, node, source)
}

/**
 * Of a snapshot that has diverged, because its primary had commits that were lost: its moment, at which the service's own
 * history leads somewhere else. Undefined when the snapshot is of that history, or the history is not there.
 */
async function timeOfDiverged(parent: Node, snapshot_id: string): Promise<string | undefined> {
  const snapshot = await findSnapshot(parent, snapshot_id)
  const way = await findWay(parent, snapshot?.taken_at).catch(() => undefined)
  return way && snapshot && !way.leadsOn(snapshot) ? snapshot.taken_at.toISOString() : undefined
}

/** A copy of a snapshot, with the WAL and settings that lead PostgreSQL from there to the moment. */
async function copyTime(
  host: Machine,
  node: Node,
  parent: Node,
  { time, signal }: { time: string; signal: AbortSignal },
): Promise<void> {
  const { path, leadsOn, ended } = await findWay(parent, new Date(time))
  const snapshot = await findStart(parent, new Date(time), leadsOn)
  if (snapshot === undefined) throw new SourceDamaged('no snapshot of its parent leads to that moment any more')
  await copySnapshot(host, node, parent, snapshot.snapshot_id, signal)
  const last_wal_file = await lastWalFileFor(parent, path, time)
  const gathered = await gatherWal(host.effect, node, parent, { snapshot, path, last_wal_file, ended, signal })
  await savePlan(host.effect, node, { ...gathered, target_time: time })
  await replaceFile(node.data_aside, 'recovery.signal', '', node)
  await replaceFile(node.data_aside, 'postgresql.auto.conf', replaySettings(node, path, time), node)
}

/** A server that has just died is given the time to come back; where another node takes over, that one is copied. */
async function copyParent(host: Machine, node: Node, parent: Node, { signal, meanwhile, ...making }: Making) {
  await ensureRemoved(host.effect, 'unfinished data directory', node.data_aside)
  requireDiskSpace(node.home)
  const comes_back = making.parent?.power === 'on'
  const runs = await readyPostmaster(parent, () => signal.aborted || !comes_back)
  if (!runs && making.parent && isReplaceable(making.parent)) throw new CutOff('its parent has no primary right now')
  const copy = runs ? copyServing : copyStill
  try {
    // There is time for it until the parent's checkpoint is made.
    await together(copy(host, node, parent, signal), meanwhile())
  } catch (error) {
    if (isDiskFull(error) || signal.aborted) throw error
    throw new CutOff(`its parent could not be copied and is tried again: ${messageOf(error)}`, { cause: error })
  }
}

async function copyServing({ effect }: Machine, node: Node, parent: Node, signal: AbortSignal): Promise<void> {
  await copyRunning(effect, await inForce(parent), node.data_aside, signal, { owner: node.owner })
}

async function copyStill(host: Machine, node: Node, parent: Node, signal: AbortSignal): Promise<void> {
  const release = await lockParent(host, parent, signal)
  try {
    // Of a server that crashed, single processes may still be writing.
    const waiting_for = await ensureStopped(host.effect, parent)
    if (waiting_for !== undefined) throw new Error(waiting_for)
    await copyStopped(host.effect, parent, node.data_aside, signal, { owner: node.owner })
  } finally {
    await release()
  }
}

/** In the parent's turn, in which PostgreSQL is started, so that it does not start meanwhile. Several forks copy it one after the other. */
async function lockParent(
  { effect, directory }: Machine,
  parent: Node,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
  for (;;) {
    const release = await inTurn(foldersOf(directory).turns, parent.service_id, async (requireTurn) => {
      signal.throwIfAborted()
      if ((await findPostmaster(parent)).postmaster) throw new Error('PostgreSQL is starting or stopping')
      return await takeLock(effectInTurn(effect, requireTurn), parent, 'copying while it stands still')
    })
    if (release !== undefined) return release
    await pause(lock_poll_ms)
  }
}

async function copySnapshot(
  { effect }: Machine,
  node: Node,
  parent: Node,
  snapshot_id: string,
  signal: AbortSignal,
): Promise<void> {
  await ensureRemoved(effect, 'unfinished data directory', node.data_aside)
  await effect('fork: copy snapshot')
  await copyTree(snapshotData(parent, snapshot_id), node.data_aside, {
    of_tenant: 'out of its reach',
    keep_reserve: true,
    signal,
    ...(node.owner && { owner: node.owner }),
  })
}

async function finish({ effect }: Machine, node: Node): Promise<void> {
  // Versions before this one moved a snapshot of the parent here, and may have been replaced before they went on.
  await ensureRemoved(effect, 'unfinished data directory', join(node.home, 'data.moved'))
  await putDataInPlace(effect, node, 'fork')
}
