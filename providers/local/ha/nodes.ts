// All nodes of one service together: which there are, by what lies on the disk, and how they are stopped and ended.
// The primary stops first and sends everything to the others before it ends, so that each of them has it.
import { readdirSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { WantedService } from '../../provider.ts'
import { ensureRemoved } from '../host/effect.ts'
import { ensureGroupGone, last_words_ms, newLeftovers } from '../host/leftovers.ts'
import { findHold } from '../snapshot/hold.ts'
import { groupOf, nodeOf, placeOf, portOf, type Place } from '../host/layout.ts'
import type { LocalHost } from '../local-host.ts'
import { findLeader } from './primary.ts'
import { ensureKilled, ensureStopped } from '../postgres/process.ts'

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

/** Whether some process is copying this node's data. */
export async function isBeingMade(place: Place): Promise<boolean> {
  return (await findHold({ ...place, copying: place.making })) !== undefined
}

/** A sentence while one of them has not ended yet. With the last of them goes whatever they have started. */
export async function ensureNodesStopped(
  host: LocalHost,
  primary: Place,
  scope: 'service' | 'set',
): Promise<string | undefined> {
  const leftovers = await newLeftovers(host, primary, scope)
  for (const place of await listPlaces(primary)) {
    const waiting_for = await ensureStopped(host.effect, place)
    if (waiting_for !== undefined) return waiting_for
  }
  await leftovers.end(last_words_ms)
  return undefined
}

/** Ends all processes, of a service also whatever else its user has, and takes away what lies outside its home. */
export async function ensureNodesKilled(host: LocalHost, primary: Place, scope: 'user' | 'set'): Promise<void> {
  const { effect } = host
  const leftovers = await newLeftovers(host, primary, scope)
  for (const place of await listPlaces(primary)) await ensureKilled(effect, place)
  await leftovers.end(0)
  await effect('limits: remove')
  await removeLimits(host, primary)
  const run = dirname(primary.service_sockets)
  const prefix = `${basename(primary.service_sockets)}.`
  for (const name of (await readdir(run)).filter((one) => one.startsWith(prefix))) {
    await ensureRemoved(effect, 'socket folder', join(run, name))
  }
}

/** The control groups of all its nodes. Nothing may run in them any more. */
export async function removeLimits(host: LocalHost, primary: Place): Promise<void> {
  for (const place of await listPlaces(primary)) await ensureGroupGone(host, groupOf(place))
}
