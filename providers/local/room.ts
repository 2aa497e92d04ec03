// The last space of a disk belongs to the databases that run on it: PostgreSQL ends at once when it cannot begin its next WAL
// file. So copies stop first, as if the disk were full; when less is left than they leave, services serve reads only until
// there is space again; and a service that goes on to grow, by transactions that insist on writing or in any other way, is
// shut before it comes to the reserve.
import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Growth, Running } from './growth.ts'
import { clientsKeyOf, type Place } from './layout.ts'

const mib = 1024 ** 2
/** Nobody's: what logins and statistics write while services serve reads only, and what a crashed server needs to recover. */
const reserve_bytes = 128 * mib
/** Services refuse writes: what is left above the reserve is for writers that are not stopped at once. */
const low_bytes = reserve_bytes + 64 * mib
/** A service that still grows is shut. */
const shut_bytes = reserve_bytes + 32 * mib
/** Not to go to and fro. */
const enough_bytes = low_bytes + 32 * mib
/** Else a copy alone could make services refuse writes. */
const kept_bytes = enough_bytes + 32 * mib
/** From the look at the disk until the last writer has ended. */
const reaction_ms = 400
/** From the first look at what takes space until it is known which service does. */
const search_ms = 1_000
/** So much less must be left since the last search to search again. */
const search_every_bytes = mib
/** Where so much is left, nobody fills the disk before the next look. */
const plenty_bytes = 2048 * mib
const look_every_ms = { plenty: 1_000, scarce: 100 }

export const low_sentence = `the disk has less than ${low_bytes / mib} MB left: it serves reads only until there is more space`
export const shut_sentence =
  'the disk has hardly any space left, and the service went on to grow: logins are refused until there is more space'

/** A copy asks after so many bytes: a small part of the space that is left to others. */
export const room_every_bytes = mib

/** Asked again and again during a copy, which costs microseconds. Fails as a write to a full disk would. */
export function requireRoom(folder: string, bytes = 0): void {
  const to_come = [...under_way].reduce((sum, file) => sum + bytesMissing(file), bytes)
  if (freeBytes(folder) - to_come >= kept_bytes) return
  throw Object.assign(new Error(`too little space is left on the disk of ${folder}`), { code: 'ENOSPC' })
}

/** What the system writes at one go: nobody can break it off when the space ends, so it is asked for before. */
const under_way = new Set<WholeFile>()

type WholeFile = { path: string; bytes: number }

export async function withRoomFor(file: WholeFile, write: () => Promise<void>): Promise<void> {
  requireRoom(dirname(file.path), file.bytes)
  under_way.add(file)
  try {
    await write()
  } finally {
    under_way.delete(file)
  }
}

function bytesMissing({ path, bytes }: WholeFile): number {
  const written = (statSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * 512
  return Math.max(0, bytes - written)
}

export type RoomWatch = {
  /** Since when too little space is left to write. */
  lowSince(): Date | undefined
  /** A service that goes on taking the last space is shut until there is more. */
  isShut(service_id: string): boolean
  /** A server with clients of its own: changes are told of it. */
  track(place: Place, pid: number): void
  /** All of a service or of a set, or one node of it. */
  forget(key: string): void
  onChange(callback: (place: Place) => void): void
  close(): void
}

export function newRoomWatch(folder: string, growth: Growth): RoomWatch {
  const tracked = new Map<string, Running>()
  const callbacks: ((place: Place) => void)[] = []
  const shut = new Set<string>()
  let low_since: Date | undefined
  let before = { free: Infinity, at_ms: 0 }
  let timer: NodeJS.Timeout | undefined
  let asking = false
  let searched_free = 0

  const tell = (places: Iterable<Place>) => {
    for (const place of places) for (const callback of callbacks) callback(place)
  }
  const places = () => [...tracked.values()].map(({ place }) => place)
  const ask = async (free_soon: number) => {
    asking = true
    try {
      const growing = await growth.growing(tracked.values())
      if (free_soon >= shut_bytes || low_since === undefined) return
      for (const { service_id } of growing) shut.add(service_id)
      tell(growing)
    } finally {
      asking = false
    }
  }
  const look = () => {
    const free = freeIfThere(folder)
    const now = { free, at_ms: performance.now() }
    const soon = freeIn(reaction_ms, before, now)
    const later = freeIn(search_ms, before, now)
    before = now
    timer = setTimeout(look, free < plenty_bytes ? look_every_ms.scarce : look_every_ms.plenty).unref()
    const low = low_since ? free < enough_bytes : soon < low_bytes
    searched_free = Math.max(searched_free, free)
    if (!asking && (low || later < low_bytes) && free <= searched_free - search_every_bytes) {
      searched_free = free
      void ask(soon)
    }
    if (low === (low_since !== undefined)) {
      if (shut.size > 0 && free >= low_bytes) tell(opened(shut, places()))
      return
    }
    low_since = low ? new Date() : undefined
    if (!low) growth.reset()
    shut.clear()
    tell(places())
  }
  look()
  return {
    lowSince: () => low_since,
    isShut: (service_id) => shut.has(service_id),
    track: (place, pid) => void tracked.set(clientsKeyOf(place), { place, pid }),
    forget(key) {
      for (const one of tracked.keys()) if (one === key || one.startsWith(`${key}/`)) tracked.delete(one)
      shut.delete(key)
    },
    onChange: (callback) => void callbacks.push(callback),
    close: () => clearTimeout(timer),
  }
}

/** Those that were shut, and are no more. */
function opened(shut: Set<string>, places: readonly Place[]): Place[] {
  const ids = new Set(shut)
  shut.clear()
  return places.filter(({ service_id }) => ids.has(service_id))
}

type FreeAt = { free: number; at_ms: number }

/** What will be left after some time, if the disk goes on to fill as it did since the last look. */
function freeIn(ms: number, before: FreeAt, now: FreeAt): number {
  const fallen = before.free - now.free
  if (!(fallen > 0 && fallen < Infinity)) return now.free
  return now.free - (fallen * ms) / Math.max(now.at_ms - before.at_ms, 1)
}

/** On a disk that is not there nothing can be written either way. */
function freeIfThere(folder: string): number {
  try {
    return freeBytes(folder)
  } catch {
    return Infinity
  }
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}
