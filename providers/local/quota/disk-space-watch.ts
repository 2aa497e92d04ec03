// Guards the last space of the disk on which databases run: PostgreSQL panics when it cannot begin its next WAL file.
// 1. When little is left, services serve reads only until there is more.
// 2. A service that goes on to grow all the same, by transactions that insist on writing or in any other way, is shut. When it
//    comes back and little is left once more, it is shut at once.
// 3. A faster service reaches the reserve, which a file occupies (reserve.ts): there it is refused space, is shut, and then the
//    reserve is freed for what the databases need to go on.
import type { Growth, Running } from './growth.ts'
import { clientsKeyOf, type Node } from '../host/layout.ts'
import { type Reserve, reserve_bytes } from '../host/reserve.ts'
import { freeBytes } from '../host/disk-space.ts'

const mib = 1024 ** 2
/** Services refuse writes: what is left above the reserve is for writers that are not stopped at once. */
const low_bytes = reserve_bytes + 64 * mib
/** A service that still grows is shut. */
const shut_bytes = reserve_bytes + 32 * mib
/** Hysteresis, also on a disk that fills by leaps. */
const enough_bytes = low_bytes + 32 * mib
const low_ms_min = 2_000
/** A database may need so much at once, for its next WAL file. */
const wall_bytes = reserve_bytes + 20 * mib
/** This long after a service is shut its sessions are closed. On a busy machine it is shut late: that is waited for, up to a bound. */
const wall_ms = { least: 1_000, most: 10_000 }
const suspect_ms = 600_000
/** From the poll of the disk until a writer that goes on although writes are refused is known, and until its session is closed. */
const refusing_ms = 800
const shutting_ms = 400
/** By then statements that were writing when writes were refused are interrupted. */
const interrupt_ms = 200
/** The first searches for growing services only record usage: they come before writes are refused. */
const searching_ms = 2_000
/** So much less must be left since the last search to search again. */
const search_every_bytes = mib
/** With this much left, no writer fills the disk before the next poll. */
const plenty_bytes = 2048 * mib
const poll_every_ms = { plenty: 1_000, scarce: 100 }

export const low_sentence = `the disk has less than ${low_bytes / mib} MB left: it serves reads only until there is more space`
export const shut_sentence =
  'the disk has hardly any space left, and the service went on to grow: logins are refused until there is more space'

export type DiskSpaceWatch = {
  /** Since when too little space is left to write. */
  lowSince(): Date | undefined
  /** A service that goes on taking the last space is shut until there is more. */
  isShut(service_id: string): boolean
  /** It is shut, or was so not long ago. */
  isSuspect(service_id: string): boolean
  /** A server with clients of its own: it is reported to `onChange`. */
  track(node: Node, pid: number): void
  /** All of a service or of a set, or one node of it. */
  forget(key: string): void
  /** The reserve is held until the callback has dealt with the service that is shut. */
  onChange(callback: (node: Node) => unknown): void
  close(): void
}

export function newDiskSpaceWatch(folder: string, growth: Growth, reserve: Reserve): DiskSpaceWatch {
  const tracked = new Map<string, Running>()
  const nodes = () => [...tracked.values()].map(({ node }) => node)
  const { tell, toldAtMs, onChange } = newListeners()
  const shut = newShut()
  let state: DiskSpaceState | undefined
  let timer: NodeJS.Timeout | undefined
  let searching = false
  /** Those that grew although writes were refused. */
  let defiant: readonly Node[] = []

  const search = async ({ are_defiant, may_shut }: Pick<DiskSpaceReading, 'are_defiant' | 'may_shut'>) => {
    searching = true
    const growing = await growth.growing(tracked.values()).finally(() => {
      searching = false
    })
    if (state?.low_since_ms === undefined) return
    if (are_defiant && growing.length > 0) defiant = growing
    tell(shut.add(may_shut ? growing : growing.filter(shut.isSuspectNode)))
  }
  const guardReserve = ({ free, at_ms, wall_since_ms }: DiskSpaceState) => {
    if (free < plenty_bytes && free > enough_bytes) reserve.take()
    if (wall_since_ms === undefined) return
    tell(shut.add(defiant))
    if (isOver({ wall_since_ms, searching, told_at_ms: toldAtMs(at_ms) }, at_ms)) reserve.release()
  }
  const poll = () => {
    const free = freeIfThere(folder) + reserve.heldBytes()
    const was_low = state?.low_since_ms !== undefined
    const next = (state = diskSpaceStateOf(state, { free, at_ms: performance.now() }, searching))
    timer = setTimeout(poll, free < plenty_bytes ? poll_every_ms.scarce : poll_every_ms.plenty).unref()
    guardReserve(next)
    if (next.search) void search(next)
    const is_low = next.low_since_ms !== undefined
    if (is_low !== was_low) {
      shut.clear()
      if (is_low) shut.add(nodes().filter(shut.isSuspectNode))
      else {
        growth.reset()
        defiant = []
      }
      tell(nodes())
    } else if (next.may_open) {
      const opened = nodes().filter(({ service_id }) => shut.has(service_id))
      shut.clear()
      tell(opened)
    }
  }
  poll()
  return {
    lowSince: () => dateOf(state?.low_since_ms),
    isShut: shut.has,
    isSuspect: shut.isSuspect,
    track: (node, pid) => void tracked.set(clientsKeyOf(node), { node, pid }),
    forget(key) {
      for (const one of tracked.keys()) if (one === key || one.startsWith(`${key}/`)) tracked.delete(one)
      shut.forget(key)
    },
    onChange,
    close: () => clearTimeout(timer),
  }
}

/** Pure. The services that grew into the reserve were shut so long ago that their sessions are closed. */
export function isOver(
  wall: { wall_since_ms: number; searching: boolean; told_at_ms: number },
  at_ms: number,
): boolean {
  const { wall_since_ms, searching, told_at_ms } = wall
  const has_ended = !searching && at_ms - Math.max(wall_since_ms, told_at_ms) > wall_ms.least
  return has_ended || at_ms - wall_since_ms > wall_ms.most
}

/** Of a moment of this process, by the clock as it is set now. */
const dateOf = (at_ms: number | undefined) =>
  at_ms === undefined ? undefined : new Date(Date.now() - (performance.now() - at_ms))

export function newListeners() {
  const callbacks: ((node: Node) => unknown)[] = []
  const under_way = new Set<Promise<unknown>>()
  let told_at_ms = -Infinity
  return {
    onChange: (callback: (node: Node) => unknown) => void callbacks.push(callback),
    /** When the last callback returned; now, while one runs. */
    toldAtMs: (now_ms: number) => (under_way.size > 0 ? now_ms : told_at_ms),
    tell: (nodes: readonly Node[]) => {
      const told = nodes.flatMap((node) => callbacks.map((callback) => callback(node)))
      if (told.length === 0) return
      const work: Promise<unknown> = Promise.allSettled(told).then(() => {
        told_at_ms = performance.now()
        under_way.delete(work)
      })
      under_way.add(work)
    },
  }
}

/** The services that are shut, and those that were so not long ago. */
function newShut() {
  const shut = new Set<string>()
  const suspect_until_ms = new Map<string, number>()
  const isSuspect = (service_id: string) =>
    shut.has(service_id) || (suspect_until_ms.get(service_id) ?? 0) > performance.now()
  return {
    has: (service_id: string) => shut.has(service_id),
    isSuspect,
    isSuspectNode: ({ service_id }: Node) => isSuspect(service_id),
    /** Returns those of them that were open. */
    add(growing: readonly Node[]): Node[] {
      const more = growing.filter(({ service_id }) => !shut.has(service_id))
      for (const { service_id } of more) {
        shut.add(service_id)
        suspect_until_ms.set(service_id, performance.now() + suspect_ms)
      }
      return more
    },
    clear: () => shut.clear(),
    forget: (service_id: string) => void shut.delete(service_id),
  }
}

type FreeAt = { free: number; at_ms: number }

type DiskSpaceState = FreeAt & {
  /** Since the poll before, in bytes per millisecond. */
  falling: number
  low_since_ms: number | undefined
  /** Only the reserve is left since. */
  wall_since_ms: number | undefined
  /** The last search, or the most that was free since. */
  searched: FreeAt
}

/** What follows: whether to search for growing services, whether they grew although writes are refused, to shut those, to open all that are shut. */
export type DiskSpaceReading = DiskSpaceState & {
  search: boolean
  are_defiant: boolean
  may_shut: boolean
  may_open: boolean
}

/** Pure. `searching`: the last search is still under way. */
export function diskSpaceStateOf(
  before: DiskSpaceState | undefined,
  now: FreeAt,
  searching: boolean,
): DiskSpaceReading {
  const { free, at_ms } = now
  const since_ms = before?.low_since_ms
  const low_ms = since_ms === undefined ? 0 : at_ms - since_ms
  const falling = fallingOf(before, now)
  // A single step is no stream: a new service begins with a copy, and WAL comes in files.
  const free_in = (ms: number) => free - Math.min(falling, before?.falling ?? 0) * ms
  const low = since_ms === undefined ? free_in(refusing_ms) < low_bytes : free < enough_bytes || low_ms < low_ms_min
  const searched = before?.searched ?? { free: 0, at_ms: 0 }
  const most_free = Math.max(searched.free, free)
  const is_watched = low || free_in(searching_ms) < low_bytes
  const search = !searching && is_watched && free <= most_free - search_every_bytes
  // All growth since the last search came after writes were refused.
  const are_defiant = at_ms - searched.at_ms < low_ms - interrupt_ms
  return {
    free,
    at_ms,
    falling,
    low_since_ms: low ? (since_ms ?? at_ms) : undefined,
    wall_since_ms: free < wall_bytes ? (before?.wall_since_ms ?? at_ms) : undefined,
    searched: search ? now : { ...searched, free: most_free },
    search,
    are_defiant,
    may_shut: are_defiant && free_in(shutting_ms) < shut_bytes,
    may_open: free >= low_bytes && low_ms >= low_ms_min,
  }
}

function fallingOf(before: DiskSpaceState | undefined, { free, at_ms }: FreeAt): number {
  const fallen = before ? before.free - free : 0
  if (!before || !(fallen > 0 && fallen < Infinity)) return 0
  return fallen / Math.max(at_ms - before.at_ms, 1)
}

/** A disk that cannot be read counts as one with plenty of space: nothing can be written there, so nothing need be refused. */
function freeIfThere(folder: string): number {
  try {
    return freeBytes(folder)
  } catch {
    return Infinity
  }
}
