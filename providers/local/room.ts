// The last space of a disk belongs to the databases that run on it: PostgreSQL ends at once when it cannot begin its next WAL
// file. So copies stop first, as if the disk were full; and when less is left than they leave, services serve reads only
// until there is space again.
import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Place } from './layout.ts'

const mib = 1024 ** 2
/** What is left for a few seconds of writes, until they are refused, and for what logins and statistics write after that. */
const low_bytes = 128 * mib
/** Else a copy alone could make services refuse writes. */
const kept_bytes = 2 * low_bytes
/** Not to go to and fro. */
const enough_bytes = low_bytes + 32 * mib
/** Where so much is left, nobody fills the disk before the next look. */
const plenty_bytes = 2048 * mib
const look_every_ms = { plenty: 1_000, scarce: 100 }

export const low_sentence = `the disk has less than ${low_bytes / mib} MB left: it serves reads only until there is more space`

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
  /** A service whose primary runs there: changes are told of it. */
  track(place: Place): void
  forget(service_id: string): void
  onChange(callback: (place: Place) => void): void
  close(): void
}

export function newRoomWatch(folder: string): RoomWatch {
  const tracked = new Map<string, Place>()
  const callbacks: ((place: Place) => void)[] = []
  let low_since: Date | undefined
  let timer: NodeJS.Timeout | undefined

  const look = () => {
    const free = freeIfThere(folder)
    const low = free < (low_since ? enough_bytes : low_bytes)
    timer = setTimeout(look, free < plenty_bytes ? look_every_ms.scarce : look_every_ms.plenty).unref()
    if (low === (low_since !== undefined)) return
    low_since = low ? new Date() : undefined
    for (const place of tracked.values()) for (const callback of callbacks) callback(place)
  }
  look()
  return {
    lowSince: () => low_since,
    track: (place) => void tracked.set(place.service_id, place),
    forget: (service_id) => void tracked.delete(service_id),
    onChange: (callback) => void callbacks.push(callback),
    close: () => clearTimeout(timer),
  }
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
