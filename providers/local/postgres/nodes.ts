// The nodes of one service: which there are, by what lies on the disk, and which of them is the primary.
import { readdirSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import type { WantedService } from '../../provider.ts'
import { nodeOf, placeOf, portOf, type Place } from '../host/layout.ts'
import { findLeader } from './primary.ts'

/** Whether others can take the primary's place when it is lost: then nothing may keep them waiting. */
export const isReplaceable = ({ power, ha }: WantedService) => power === 'on' && (ha?.replica_count ?? 0) > 0

/** A service's primary by its id alone; undefined when there is no such service. As root its port is told by its group. */
export async function findService(directory: string, service_id: string, as_root: boolean): Promise<Place | undefined> {
  const base = findBase(directory, service_id, as_root)
  return base && (await findLeader(base))
}

/** Its first node, whichever leads. */
export function findBase(directory: string, service_id: string, as_root: boolean): Place | undefined {
  const { home } = placeOf(directory, service_id, 0, as_root)
  const seen = statSync(home, { throwIfNoEntry: false })
  return seen && placeOf(directory, service_id, as_root ? portOf({ uid: seen.gid }) : 0, as_root)
}

/** Those with data, and those that are on their way there or away. */
export async function listNodeFolders(place: Place): Promise<number[]> {
  return nodesAmong(await readdir(place.home).catch(() => []))
}

function nodesAmong(names: readonly string[]): number[] {
  const numbers = names.flatMap((name) => /^node-(\d+)$/.exec(name)?.[1] ?? []).map(Number)
  const first = names.some((name) => /^(data(\.new|\.gone)?|log)$/.test(name)) ? [0] : []
  return [...first, ...numbers.toSorted((a, b) => a - b)]
}

/** The primary first, then the others as they are found. */
export async function listPlaces(primary: Place): Promise<Place[]> {
  const others = (await listNodeFolders(primary)).filter((node) => node !== primary.node)
  return [primary, ...others.map((node) => nodeOf(primary, node, 'standby'))]
}

/** The same at one go where nothing ever failed over, for whoever looks at hundreds of services every few seconds. */
export async function listPlacesQuickly(base: Place): Promise<readonly [Place, ...Place[]]> {
  const names = namesIn(base.home)
  const primary = names.includes('primary.json') ? await findLeader(base) : nodeOf(base, 0, 'primary')
  const others = nodesAmong(names).filter((node) => node !== primary.node)
  return [primary, ...others.map((node) => nodeOf(base, node, 'standby'))]
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Pure: the primary, and of the others first those that have data, because a copy takes long; the lowest numbers of each. */
export function nodesOf(primary: number, replica_count: number, with_data: readonly number[]): number[] {
  const there = with_data.filter((node) => node !== primary).toSorted((a, b) => a - b)
  const fresh = Array.from({ length: there.length + replica_count + 1 }, (_, node) => node)
  const others = [...there, ...fresh.filter((node) => node !== primary && !there.includes(node))]
  return [primary, ...others.slice(0, replica_count)]
}
