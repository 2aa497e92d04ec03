// The nodes of one service: which exist, by their folders on the disk, and which of them is the primary.
import { readdir } from 'node:fs/promises'
import type { WantedService } from '../../provider.ts'
import { statIfThere } from '../../host/read.ts'
import { findEntry } from '../host/tenant-files.ts'
import { nodeAt, nodeOf, portOf, type Node } from '../host/layout.ts'
import { findLeader } from './primary.ts'

/** Whether a replica can take over when the primary is lost: then no wait may delay it. */
export const isReplaceable = ({ power, ha }: WantedService) => power === 'on' && (ha?.replica_count ?? 0) > 0

/** A service's primary by its id alone; undefined when there is no such service. As root its port follows from its group. */
export async function findService(directory: string, service_id: string, as_root: boolean): Promise<Node | undefined> {
  const { home } = nodeOf(directory, service_id, 0, as_root)
  const stats = await statIfThere(home)
  if (!stats) return undefined
  return await findLeader(nodeOf(directory, service_id, as_root ? portOf({ uid: stats.gid }) : 0, as_root))
}

/** Those with data, and those that are being copied or removed. */
export async function listNodeFolders(node: Node): Promise<number[]> {
  const names = await readdir(node.home).catch(() => [])
  const numbers = names.flatMap((name) => /^node-(\d+)$/.exec(name)?.[1] ?? []).map(Number)
  const first = names.some((name) => /^(data(\.new|\.gone)?|log)$/.test(name)) ? [0] : []
  return [...first, ...numbers.toSorted((a, b) => a - b)]
}

export async function listNodesWithData(base: Node): Promise<number[]> {
  return (await listNodeFolders(base)).filter((number) => hasData(nodeAt(base, number, 'standby')))
}

/** An emptied folder is no data directory. */
export const hasData = ({ data }: Node) => findEntry(data, 'global/pg_control') !== undefined

/** The primary first, then the others in the order of the listing. */
export async function listNodes(primary: Node): Promise<[Node, ...Node[]]> {
  const others = (await listNodeFolders(primary)).filter((number) => number !== primary.number)
  return [primary, ...others.map((number) => nodeAt(primary, number, 'standby'))]
}

/** Pure: the primary, and of the others first those that have data, because a copy takes long; the lowest numbers of each. */
export function nodesOf(primary: number, replica_count: number, with_data: readonly number[]): number[] {
  const there = with_data.filter((number) => number !== primary).toSorted((a, b) => a - b)
  const fresh = Array.from({ length: there.length + replica_count + 1 }, (_, number) => number)
  const others = [...there, ...fresh.filter((number) => number !== primary && !there.includes(number))]
  return [primary, ...others.slice(0, replica_count)]
}
