// The snapshots that a service has: each a folder with the copied data and a file of facts, complete or absent.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readIfThere, statIfThere } from '../../host/read.ts'
import type { Node } from '../host/layout.ts'
import type { ClusterCopy } from './cluster-copy.ts'

export type Snapshot = ClusterCopy & { snapshot_id: string }

export const facts_name = 'snapshot.json'

export const snapshotData = (node: Node, snapshot_id: string) => join(node.snapshots, snapshot_id, 'data')

/** The facts of a complete snapshot; undefined when there is none. */
export async function findSnapshot(node: Node, snapshot_id: string): Promise<ClusterCopy | undefined> {
  return await readSnapshot(join(node.snapshots, snapshot_id))
}

/** The same of a folder that lies elsewhere. */
export async function readSnapshot(folder: string): Promise<ClusterCopy | undefined> {
  const text = await readIfThere(join(folder, facts_name))
  // A restore may have moved the data away, and versions before this one did; the facts stay.
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
