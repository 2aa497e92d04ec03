// The way that a service's WAL took, now and before its data were exchanged.
import { readControl } from '../postgres/control-file.ts'
import type { Node } from '../host/layout.ts'
import { leftAt, readExchange } from '../wal/left.ts'
import { fileIsOnPath, findPath, findPathTo, type Path } from '../wal/timeline.ts'
import { archiveAt, pgWalOf } from '../wal/wal.ts'
import { isThrough, type LeadsOn, type Period, startOf } from './periods.ts'
import { listComplete, type Snapshot } from './stored.ts'

export async function findPeriods(node: Node): Promise<Period[]> {
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

/** The snapshot from which a replay to this time begins; undefined when there is none. */
export async function findStart(node: Node, time: Date, leadsOn: LeadsOn): Promise<Snapshot | undefined> {
  return startOf(await listComplete(node), time, leadsOn)
}

/** The WAL file up to which a replay to this moment needs the service's WAL; undefined when no snapshot can tell. */
export async function lastWalFileFor(node: Node, path: Path, target_time: string): Promise<string | undefined> {
  const { segment_bytes } = await readControl(node.data)
  const commits = (await listComplete(node)).flatMap(({ commit }) => commit ?? [])
  const later = commits.filter(({ ms }) => Date.parse(target_time) < ms)
  // A diverged snapshot tells nothing of the service's own path.
  const counting = later.filter(({ wal_file }) => fileIsOnPath(path, wal_file, segment_bytes))
  return counting.toSorted((a, b) => a.ms - b.ms)[0]?.wal_file
}
