// The nodes of one service: which there are, by what lies on the disk, and which of them is the primary.
import { readdir } from 'node:fs/promises'
import type { WantedService } from '../../provider.ts'
import { statIfThere } from '../host/look.ts'
import { nodeOf, placeOf, portOf, type Place } from '../host/layout.ts'
import { findLeader } from './primary.ts'

/** Whether others can take the primary's place when it is lost: then nothing may keep them waiting. */
export const isReplaceable = ({ power, ha }: WantedService) => power === 'on' && (ha?.replica_count ?? 0) > 0

/** A service's primary by its id alone; undefined when there is no such service. As root its port is told by its group. */
export async function findService(directory: string, service_id: string, as_root: boolean): Promise<Place | undefined> {
  const { home } = placeOf(directory, service_id, 0, as_root)
  const seen = await statIfThere(home)
  if (!seen) return undefined
  return await findLeader(placeOf(directory, service_id, as_root ? portOf({ uid: seen.gid }) : 0, as_root))
}

/** Those with data, and those that are on their way there or away. */
export async function listNodeFolders(place: Place): Promise<number[]> {
  const names = await readdir(place.home).catch(() => [])
  const numbers = names.flatMap((name) => /^node-(\d+)$/.exec(name)?.[1] ?? []).map(Number)
  const first = names.some((name) => /^(data(\.new|\.gone)?|log)$/.test(name)) ? [0] : []
  return [...first, ...numbers.toSorted((a, b) => a - b)]
}

/** The primary first, then the others as they are found. */
export async function listPlaces(primary: Place): Promise<[Place, ...Place[]]> {
  const others = (await listNodeFolders(primary)).filter((node) => node !== primary.node)
  return [primary, ...others.map((node) => nodeOf(primary, node, 'standby'))]
}

/** Pure: the primary, and of the others first those that have data, because a copy takes long; the lowest numbers of each. */
export function nodesOf(primary: number, replica_count: number, with_data: readonly number[]): number[] {
  const there = with_data.filter((node) => node !== primary).toSorted((a, b) => a - b)
  const fresh = Array.from({ length: there.length + replica_count + 1 }, (_, node) => node)
  const others = [...there, ...fresh.filter((node) => node !== primary && !there.includes(node))]
  return [primary, ...others.slice(0, replica_count)]
}
