// The snapshots of a service: those wanted are taken, all others removed. A snapshot is a folder with the copied data
// and a file of facts; it is made aside and renamed, so it is complete or absent.
// Taking one never stops, starts or fails the service it is taken of.
// A snapshot has diverged when a failover abandoned its timeline. Its moment is then one of the service's own history, which is
// reached from the last snapshot before it that has not diverged: that one stays as long as the other is wanted.
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../host/message.ts'
import type { ObservedService, ObservedSnapshot, Restorable, WantedService, WantedSnapshot } from '../../provider.ts'
import { pruneArchive } from '../wal/archive.ts'
import { copyRunning, copyStopped, type ClusterCopy } from './cluster-copy.ts'
import { syncOne, syncTree } from '../host/tree.ts'
import { ensureFolder, ensureRemoved } from '../host/effect.ts'
import { isDiskFull, readIfThere, statIfThere } from '../../host/read.ts'
import { findLock, withLock } from '../host/lock.ts'
import { look_again_without_space_seconds, noSpaceSentence, type Node } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { isReplaceable } from '../postgres/nodes.ts'
import { requireDiskSpace } from '../host/disk-space.ts'
import { Planted } from '../host/tenant-files.ts'
import { readControl } from '../postgres/control-file.ts'
import { ensureStopped, findPostmaster } from '../postgres/process.ts'
import { ensureBeforeRemoved, findBefore, isExchanged, standing } from './before.ts'
import { leftAt, readExchange } from '../wal/left.ts'
import { fileIsOnPath, findPath, findPathTo, isOnPath, type Path } from '../wal/timeline.ts'
import { archiveAt, pgWalOf, segmentNameOf, walPositionOf, segmentNumberOf, timelineOf } from '../wal/wal.ts'

/** `pruned_up_to`: the WAL file up to which this process itself pruned a service's archive. Only saves a listing. */
type SnapshotHost = Machine & { pruned_up_to: Map<string, string> }

export type ObservedSnapshots = Pick<ObservedService, 'restorable' | 'waiting_for' | 'look_again_seconds'> & {
  snapshots: ObservedSnapshot[]
}

export type Snapshot = ClusterCopy & { snapshot_id: string }

const look_again_soon_seconds = 0.5
const look_again_after_setback_seconds = 10
/** By then the WAL of a snapshot is in the archive, and the caller that waited for the snapshot has it. */
const fresh_seconds = 5
/** A pass returns within seconds, however many snapshots are wanted. */
const poll_ms_max = 4_000

export async function ensureSnapshots(
  host: SnapshotHost,
  node: Node,
  wanted: WantedService,
): Promise<ObservedSnapshots> {
  await ensureFolder(host.effect, 'snapshots', node.snapshots, 0o700)
  const lasting = wanted.snapshots.filter((snapshot) => !snapshot.deleted)
  const periods = await findPeriods(node).catch((error: unknown) => {
    if (error instanceof Planted) throw error
    return undefined
  })
  await removeOthers(host, node, neededFor(await standing(node, wanted), await listComplete(node), periods))
  const isLost = newLost(node, wanted)
  const outcome = (await isExchanged(node, wanted)) ? await takeMissing(host, node, lasting, isLost) : {}
  const complete = await listComplete(node)
  await ensureBeforeRemoved(host.effect, node, lasting, complete)
  const fresh = complete.some(({ taken_at }) => Date.now() - taken_at.getTime() < fresh_seconds * 1000)
  if (!(await isLost())) await prune(host, node, complete)
  const snapshots = wanted.snapshots.map(({ snapshot_id, deleted }): ObservedSnapshot => {
    const found = complete.find((one) => one.snapshot_id === snapshot_id)
    if (!found) return { snapshot_id, state: deleted ? 'absent' : 'taking' }
    return { snapshot_id, state: 'complete', taken_at: found.taken_at, size_bytes: found.size_bytes }
  })
  const restorable = periods && restorableOf(complete, periods)
  const pace = fresh && { look_again_seconds: fresh_seconds + 1 }
  return { ...pace, ...outcome, snapshots, ...(restorable && { restorable }) }
}

/**
 * WAL that is not in the archive yet is in the WAL folder: every moment up to now, or to the end of a stopped service. From the newest
 * period backwards, as far as there is a snapshot from which the whole of a period is reached.
 */
function restorableOf(complete: readonly Snapshot[], periods: readonly Period[]): Restorable | 'none' {
  let from: Date | undefined
  for (const [at, { leadsOn, until }] of [...periods.entries()].toReversed()) {
    const oldest = complete.find((one) => leadsOn(one) && (until === undefined || one.taken_at <= until))
    if (oldest === undefined) break
    const begin = periods[at - 1]?.until
    from = begin && begin > oldest.taken_at ? begin : oldest.taken_at
    if (from === oldest.taken_at) break
  }
  return from ? { from, until: 'now' } : 'none'
}

/** Those that are wanted, and those by which the diverged ones among them are reached. Where that is not known, all. */
function neededFor(
  lasting: readonly WantedSnapshot[],
  complete: readonly Snapshot[],
  periods: readonly Period[] | undefined,
): Set<string> {
  if (periods === undefined) return new Set(complete.map(({ snapshot_id }) => snapshot_id))
  const kept = new Set(lasting.map(({ snapshot_id }) => snapshot_id))
  const starts = complete.flatMap((one) => {
    const leadsOn = periods.find(({ until }) => until === undefined || one.taken_at <= until)?.leadsOn
    if (!kept.has(one.snapshot_id) || leadsOn === undefined || leadsOn(one)) return []
    return startOf(complete, one.taken_at, leadsOn) ?? []
  })
  return new Set([...kept, ...starts.map(({ snapshot_id }) => snapshot_id)])
}

/** Where a replica can take over from a primary that died meanwhile, that comes first; what has time is left to its pass. */
function newLost(node: Node, wanted: WantedService): () => Promise<boolean> {
  return async () => isReplaceable(wanted) && (await findPostmaster(node)).died
}

/** Whether the service's WAL goes through the end of the snapshot, and from there to every later moment. */
type LeadsOn = (snapshot: ClusterCopy) => boolean

/** Until which moment the service was on a path of its WAL; without it: it still is. */
type Period = { until?: Date; leadsOn: LeadsOn }

async function findPeriods(node: Node): Promise<Period[]> {
  const { left = [] } = (await readExchange(node)) ?? {}
  const ends = left.map(({ until }) => new Date(until))
  const ways = await Promise.all([...ends, undefined].map((until) => findWay(node, until)))
  return ways.map(({ leadsOn }, at) => ({ leadsOn, ...(ends[at] && { until: ends[at] }) }))
}

/**
 * The path of the service's WAL, for which its data must be readable: where it is now, or where it was at a moment. `ended`: an
 * exchange of its data has ended it.
 */
export async function findWay(node: Node, at?: Date): Promise<{ path: Path; leadsOn: LeadsOn; ended: boolean }> {
  const folders = [pgWalOf(node.data), archiveAt(node.archive)]
  const left = at && leftAt((await readExchange(node))?.left ?? [], at)
  const path = left ? findPathTo(left.timeline, folders) : await findPath(node.data, folders)
  const { segment_bytes } = await readControl(node.data)
  return { path, leadsOn: (snapshot) => isThrough(path, snapshot, segment_bytes), ended: left !== undefined }
}

/** Whether the path goes through the end of the snapshot. */
export function isThrough(path: Path, { start_wal_file, end_position }: ClusterCopy, segment_bytes: number): boolean {
  const end = end_position ?? segmentNumberOf(start_wal_file, segment_bytes) * segment_bytes
  return isOnPath(path, timelineOf(start_wal_file), end)
}

/** Begins what the rest of the pass need not wait for: a fork may be waiting. The server must be ready. */
export async function beginSnapshot(host: SnapshotHost, node: Node, wanted: WantedService): Promise<void> {
  if (!(await isExchanged(node, wanted))) return
  for (const { snapshot_id, deleted } of wanted.snapshots) {
    if (deleted || (await findSnapshot(node, snapshot_id))) continue
    await ensureFolder(host.effect, 'snapshots', node.snapshots, 0o700)
    const isLost = newLost(node, wanted)
    host.jobs.begin(snapshotJob(node, snapshot_id), (signal) => take(host, node, snapshot_id, signal, isLost))
    return
  }
}

/** The name of the job that takes a snapshot. */
export const snapshotJob = ({ service_id }: Node, snapshot_id: string) => `${service_id}/snapshot ${snapshot_id}`

export const snapshotData = (node: Node, snapshot_id: string) => join(node.snapshots, snapshot_id, 'data')

/** The facts of a complete snapshot; undefined when there is none. */
export async function findSnapshot(node: Node, snapshot_id: string): Promise<ClusterCopy | undefined> {
  return await readSnapshot(join(node.snapshots, snapshot_id))
}

/** The same of a folder that lies elsewhere. */
export async function readSnapshot(folder: string): Promise<ClusterCopy | undefined> {
  const text = await readIfThere(join(folder, facts_name))
  // Versions before this one moved the data of some snapshots into forks, and left the facts.
  if (text === undefined || !(await statIfThere(join(folder, 'data')))) return undefined
  const facts = JSON.parse(text) as Omit<ClusterCopy, 'taken_at'> & { taken_at: string } // written below, in one piece
  return { ...facts, taken_at: new Date(facts.taken_at) }
}

/** The complete snapshots, in the order of their moments. */
export async function listComplete(node: Node): Promise<Snapshot[]> {
  const ids = (await readdir(node.snapshots)).filter((name) => !name.includes('.'))
  const found = await Promise.all(ids.map((id) => findSnapshot(node, id)))
  return found
    .flatMap((facts, at) => (facts ? [{ ...facts, snapshot_id: ids[at] ?? '' }] : []))
    .toSorted((a, b) => a.taken_at.getTime() - b.taken_at.getTime())
}

/** The snapshot from which a replay to this time begins; undefined when there is none. */
export async function findStart(node: Node, time: Date, leadsOn: LeadsOn): Promise<Snapshot | undefined> {
  return startOf(await listComplete(node), time, leadsOn)
}

const startOf = (complete: readonly Snapshot[], time: Date, leadsOn: LeadsOn): Snapshot | undefined =>
  complete.findLast((one) => one.taken_at <= time && leadsOn(one))

/** The WAL file up to which a replay to this moment needs the service's WAL; undefined when no snapshot can tell. */
export async function lastWalFileFor(node: Node, path: Path, target_time: string): Promise<string | undefined> {
  const { segment_bytes } = await readControl(node.data)
  const commits = (await listComplete(node)).flatMap(({ commit }) => commit ?? [])
  const later = commits.filter(({ ms }) => Date.parse(target_time) < ms)
  // A diverged snapshot tells nothing of the service's own path.
  const counting = later.filter(({ wal_file }) => fileIsOnPath(path, wal_file, segment_bytes))
  return counting.toSorted((a, b) => a.ms - b.ms)[0]?.wal_file
}

const facts_name = 'snapshot.json'

async function removeOthers({ effect }: SnapshotHost, node: Node, needed: ReadonlySet<string>): Promise<void> {
  const names = await readdir(node.snapshots)
  const unfinished = names.filter((name) => name.endsWith('.new'))
  if (unfinished.length > 0 && (await findLock(node)) === undefined) {
    for (const name of unfinished) await ensureRemoved(effect, 'unfinished snapshot', join(node.snapshots, name))
  }
  for (const name of names.filter((name) => !name.includes('.') && !needed.has(name))) {
    await effect('snapshot: rename away')
    await rename(join(node.snapshots, name), join(node.snapshots, `${name}.gone`))
  }
  for (const name of (await readdir(node.snapshots)).filter((name) => name.endsWith('.gone'))) {
    await ensureRemoved(effect, 'deleted snapshot', join(node.snapshots, name))
  }
}

/** One after the other: several copies of one database at once would only get into each other's way. */
async function takeMissing(
  host: SnapshotHost,
  node: Node,
  lasting: readonly WantedSnapshot[],
  isLost: () => Promise<boolean>,
): Promise<Omit<ObservedSnapshots, 'snapshots' | 'restorable'>> {
  const deadline = performance.now() + poll_ms_max
  for (const { snapshot_id: id } of lasting) {
    if (await findSnapshot(node, id)) continue
    if (await isLost()) return {}
    if (performance.now() > deadline) return { look_again_seconds: look_again_soon_seconds }
    try {
      const end = await host.jobs.ensure(snapshotJob(node, id), (signal) => take(host, node, id, signal, isLost))
      if (end === 'under way') return { look_again_seconds: look_again_soon_seconds }
    } catch (error) {
      return setbackOf(host, error)
    }
    if (!(await findSnapshot(node, id))) return { look_again_seconds: look_again_soon_seconds }
  }
  return {}
}

function setbackOf({ directory }: SnapshotHost, error: unknown): { waiting_for: string; look_again_seconds: number } {
  if (isDiskFull(error)) {
    const waiting_for = `a snapshot is waiting: ${noSpaceSentence(directory)}`
    return { waiting_for, look_again_seconds: look_again_without_space_seconds }
  }
  const waiting_for = `a snapshot could not be taken and is tried again: ${messageOf(error)}`
  return { waiting_for, look_again_seconds: look_again_after_setback_seconds }
}

/** Does nothing when another process is copying here, or PostgreSQL is just starting or lost: the next pass finds out. */
async function take(
  host: SnapshotHost,
  node: Node,
  id: string,
  signal: AbortSignal,
  isLost: () => Promise<boolean>,
): Promise<void> {
  const { effect } = host
  const before = await findBefore(node, id)
  const { postmaster } = before ? { postmaster: undefined } : await findPostmaster(node)
  if (postmaster ? !postmaster.ready : before === undefined && (await isLost())) return
  requireDiskSpace(node.home)
  const kind = postmaster || before ? 'copying while it runs' : 'copying while it stands still'
  await withLock(effect, node, kind, async () => {
    const aside = join(node.snapshots, `${id}.new`)
    try {
      await ensureRemoved(effect, 'unfinished snapshot', aside)
      await effect('snapshot: make folder')
      await mkdir(aside, { mode: 0o700 })
      // Of a server that crashed, single processes may still be writing.
      if (!postmaster && !before && (await ensureStopped(effect, node)) !== undefined) return
      const to = join(aside, 'data')
      const facts = postmaster
        ? await copyRunning(effect, node, to, signal, { passable: true })
        : { ...(await copyStopped(effect, before?.node ?? node, to, signal)), ...(before && { taken_at: before.at }) }
      await writeFile(join(aside, facts_name), JSON.stringify(facts), { mode: 0o600 })
      await effect('snapshot: make durable')
      await syncTree(aside, signal)
      await effect('snapshot: rename into place')
      await rename(aside, join(node.snapshots, id))
      await syncOne(node.snapshots)
    } finally {
      // A copy that met a full disk gives its space back at once; an aborted copy, or one whose server died, leaves that to the
      // next pass: clients may be waiting for another primary.
      const hurried = signal.aborted || (await findPostmaster(node)).died
      if (!hurried) await ensureRemoved(effect, 'unfinished snapshot', aside)
    }
  })
}

async function prune({ effect, pruned_up_to }: SnapshotHost, node: Node, complete: readonly ClusterCopy[]) {
  const control = await readControl(node.data).catch(() => undefined)
  if (complete.length === 0 || control === undefined) return
  // After an exchange the service may be at an earlier position than its newest snapshot.
  const own = segmentNameOf(control.timeline, control.redo, control.segment_bytes)
  const starts = [own, ...complete.map((facts) => facts.start_wal_file)]
  const oldest = starts.toSorted((a, b) => (walPositionOf(a) < walPositionOf(b) ? -1 : 1))[0]
  if (oldest === undefined || pruned_up_to.get(node.service_id) === oldest) return
  // What is wrong with an archive is reported by archiveTrouble.
  if (!(await statIfThere(node.archive))?.isDirectory()) return
  await pruneArchive(effect, node, oldest)
  pruned_up_to.set(node.service_id, oldest)
}
