// The snapshots of a service: those wanted are taken, all others removed. A snapshot is a folder with the copied data
// and a file of facts; it is made aside and renamed, so it is complete or absent.
// Taking one never stops, starts or fails the service it is taken of.
// A snapshot has diverged when a failover abandoned its timeline. Its moment is then one of the service's own history, which is
// reached from the last snapshot before it that has not diverged: that one stays as long as the other is wanted.
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../host/message.ts'
import type { ObservedService, ObservedSnapshot, WantedService, WantedSnapshot } from '../../provider.ts'
import { pruneArchive } from '../wal/archive.ts'
import { copyRunning, copyStopped, type ClusterCopy } from './cluster-copy.ts'
import { syncOne } from '../../host/sync.ts'
import { syncTree } from '../host/tree.ts'
import { ensureFolder, ensureRemoved } from '../host/effect.ts'
import { isDiskFull, statIfThere } from '../../host/read.ts'
import { findLock, withLock } from '../host/lock.ts'
import { look_again_without_space_seconds, noSpaceSentence, type Node } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { isReplaceable } from '../postgres/nodes.ts'
import { requireDiskSpace } from '../host/disk-space.ts'
import { Planted } from '../host/tenant-files.ts'
import { readControl } from '../postgres/control-file.ts'
import { ensureStopped, findPostmaster } from '../postgres/process.ts'
import { ensureBeforeRemoved, findBefore, isExchanged, standing } from './before.ts'
import { neededFor, restorableOf } from './periods.ts'
import { facts_name, findSnapshot, listComplete } from './stored.ts'
import { findPeriods } from './way.ts'
import { segmentNameOf, segmentNumberAt } from '../../postgres/lsn.ts'
import { walPositionOf } from '../wal/wal.ts'

/** `pruned_up_to`: the WAL file up to which this process itself pruned a service's archive. Only saves a listing. */
type SnapshotHost = Machine & { pruned_up_to: Map<string, string> }

type ObservedSnapshots = Pick<ObservedService, 'restorable' | 'waiting_for' | 'look_again_seconds'> & {
  snapshots: ObservedSnapshot[]
}

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

/** Where a replica can take over from a primary that died meanwhile, that comes first; what has time is left to its pass. */
function newLost(node: Node, wanted: WantedService): () => Promise<boolean> {
  return async () => isReplaceable(wanted) && (await findPostmaster(node)).died
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

export const snapshotJob = ({ service_id }: Node, snapshot_id: string) => `${service_id}/snapshot ${snapshot_id}`

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
  const { timeline, redo, segment_bytes } = control
  const own = segmentNameOf(timeline, segmentNumberAt(redo, segment_bytes), segment_bytes)
  const starts = [own, ...complete.map((facts) => facts.start_wal_file)]
  const oldest = starts.toSorted((a, b) => (walPositionOf(a) < walPositionOf(b) ? -1 : 1))[0]
  if (oldest === undefined || pruned_up_to.get(node.service_id) === oldest) return
  // What is wrong with an archive is reported by archiveTrouble.
  if (!(await statIfThere(node.archive))?.isDirectory()) return
  await pruneArchive(effect, node, oldest)
  pruned_up_to.set(node.service_id, oldest)
}
