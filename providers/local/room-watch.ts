// Looks after the last space of the disk on which databases run: PostgreSQL ends at once when it cannot begin its next WAL file.
// When little is left, services serve reads only until there is more. A service that goes on to grow all the same, by
// transactions that insist on writing or in any other way, is shut before it comes to the reserve, which is nobody's.
import type { Growth, Running } from './growth.ts'
import { clientsKeyOf, type Place } from './layout.ts'
import { freeBytes } from './room.ts'

const mib = 1024 ** 2
/** What logins and statistics write while services serve reads only, and what a crashed server needs to recover. */
const reserve_bytes = 128 * mib
/** Services refuse writes: what is left above the reserve is for writers that are not stopped at once. */
const low_bytes = reserve_bytes + 64 * mib
/** A service that still grows is shut. */
const shut_bytes = reserve_bytes + 32 * mib
/** Not to go to and fro; nor with a disk that fills by leaps. */
const enough_bytes = low_bytes + 32 * mib
const low_ms_min = 2_000
/** From the look at the disk until the last writer has ended. */
const reaction_ms = 400
/** By then statements that were writing when writes were refused have ended. */
const interrupt_ms = 200
/** From the first search for what takes space until it is known. */
const search_ms = 1_000
/** So much less must be left since the last search to search again. */
const search_every_bytes = mib
/** Where so much is left, no writer fills the disk before the next look. */
const plenty_bytes = 2048 * mib
const look_every_ms = { plenty: 1_000, scarce: 100 }

export const low_sentence = `the disk has less than ${low_bytes / mib} MB left: it serves reads only until there is more space`
export const shut_sentence =
  'the disk has hardly any space left, and the service went on to grow: logins are refused until there is more space'

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
  let state: RoomState | undefined
  let timer: NodeJS.Timeout | undefined
  let searching = false

  const tell = (chosen: (place: Place) => boolean) => {
    const places = [...tracked.values()].map(({ place }) => place).filter(chosen)
    for (const place of places) for (const callback of callbacks) callback(place)
  }
  const search = async (may_shut: boolean) => {
    searching = true
    const growing = await growth.growing(tracked.values()).finally(() => {
      searching = false
    })
    if (!may_shut || state?.low_since_ms === undefined) return
    for (const { service_id } of growing) shut.add(service_id)
    tell((place) => growing.includes(place))
  }
  const look = () => {
    const free = freeIfThere(folder)
    const was_low = state?.low_since_ms !== undefined
    const { search: searches, may_shut, may_open, ...next } = roomStateOf(state, { free, at_ms: Date.now() }, searching)
    state = next
    timer = setTimeout(look, free < plenty_bytes ? look_every_ms.scarce : look_every_ms.plenty).unref()
    if (searches) void search(may_shut)
    const is_low = next.low_since_ms !== undefined
    if (is_low === was_low && !(may_open && shut.size > 0)) return
    const opened = new Set(shut)
    shut.clear()
    if (!is_low) growth.reset()
    tell(({ service_id }) => is_low !== was_low || opened.has(service_id))
  }
  look()
  return {
    lowSince: () => (state?.low_since_ms === undefined ? undefined : new Date(state.low_since_ms)),
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

type FreeAt = { free: number; at_ms: number }

export type RoomState = FreeAt & {
  low_since_ms: number | undefined
  /** The last search, or the most that was free since. */
  searched: FreeAt
}

/** What follows: to find out who grows, to shut those, to open all that are shut. */
export type RoomLook = RoomState & { search: boolean; may_shut: boolean; may_open: boolean }

/** Pure. `searching`: the last search is still under way. */
export function roomStateOf(before: RoomState | undefined, now: FreeAt, searching: boolean): RoomLook {
  const { free, at_ms } = now
  const since_ms = before?.low_since_ms
  const low_ms = since_ms === undefined ? 0 : at_ms - since_ms
  const soon = freeIn(reaction_ms, before, now)
  const low = since_ms === undefined ? soon < low_bytes : free < enough_bytes || low_ms < low_ms_min
  const searched = before?.searched ?? { free: 0, at_ms: 0 }
  const most_free = Math.max(searched.free, free)
  const is_watched = low || freeIn(search_ms, before, now) < low_bytes
  const search = !searching && is_watched && free <= most_free - search_every_bytes
  return {
    free,
    at_ms,
    low_since_ms: low ? (since_ms ?? at_ms) : undefined,
    searched: search ? now : { ...searched, free: most_free },
    search,
    // Whatever grew since the last search did so although writes were refused.
    may_shut: soon < shut_bytes && at_ms - searched.at_ms < low_ms - interrupt_ms,
    may_open: free >= low_bytes && low_ms >= low_ms_min,
  }
}

/** What will be left after some time, if the disk goes on to fill as it did since the last look. */
function freeIn(ms: number, before: FreeAt | undefined, { free, at_ms }: FreeAt): number {
  const fallen = (before?.free ?? free) - free
  if (!(fallen > 0 && fallen < Infinity)) return free
  return free - (fallen * ms) / Math.max(at_ms - (before?.at_ms ?? 0), 1)
}

/** On a disk that is not there nothing can be written either way. */
function freeIfThere(folder: string): number {
  try {
    return freeBytes(folder)
  } catch {
    return Infinity
  }
}
