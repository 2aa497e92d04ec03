// The timelines of a service's WAL. Every promotion begins a new one at a position of the one before; WAL that is
// written to the old one after that position is abandoned, even where it is archived.
// A path is the sequence of timelines that leads to the newest: at each position exactly one of them counts.
import { readControl } from '../postgres/control-file.ts'
import { hex8, parseLsn, segmentNameOf, segmentNumberOf } from '../../postgres/lsn.ts'
import { readText } from '../host/tenant-files.ts'
import {
  isHistory,
  newestTimeline,
  pathIn,
  pgWalOf,
  timelineOf,
  walNames,
  type Segment,
  type WalFolder,
} from './wal.ts'

/** from: the position at which it left the one before it; 0 for the first. */
export type Branch = { timeline: number; from: number }

/** Oldest first. */
export type Path = readonly Branch[]

/** The path to the timeline of this data directory; folders are where its histories lie. */
export async function findPath(data: string, folders: readonly WalFolder[]): Promise<Path> {
  const own = (await walNames(pgWalOf(data))).filter(isHistory)
  // A server that was promoted a moment ago has written the history already, but not yet its control file.
  return findPathTo(newestTimeline((await readControl(data)).timeline, own), folders)
}

/** Without its history the path has this timeline alone. */
export function findPathTo(timeline: number, folders: readonly WalFolder[]): Path {
  for (const folder of folders) {
    const text = readText(folder.folder, pathIn(folder, historyOf(timeline)))
    if (text !== undefined) return pathOf(timeline, text)
  }
  return [{ timeline, from: 0 }]
}

/** The name of the file with the path to the timeline. */
export const historyOf = (timeline: number) => `${hex8(timeline)}.history`

/** A history has a line for each timeline before: its number and the position at which it was left. */
export function pathOf(timeline: number, history: string): Path {
  const lines = history.split('\n').flatMap((line) => {
    const [, left, lsn = ''] = /^\s*(\d+)\s+([0-9A-F]+\/[0-9A-F]+)/i.exec(line) ?? []
    return left === undefined ? [] : [{ timeline: Number(left), left_at: Number(parseLsn(lsn)) }]
  })
  const timelines = [...lines.map((line) => line.timeline), timeline]
  return timelines.map((one, at) => ({ timeline: one, from: lines[at - 1]?.left_at ?? 0 }))
}

/** Whether WAL of this timeline up to this position is part of the path. */
export function isOnPath(path: Path, timeline: number, position: number): boolean {
  const at = path.findIndex((branch) => branch.timeline === timeline)
  const next = path[at + 1]
  return at >= 0 && (next === undefined || position <= next.from)
}

/** The segments of the path: where two timelines share a segment, the newer one's, which begins with a copy of the older. */
export function onPath(segments: readonly Segment[], path: Path): Segment[] {
  return segments.filter(({ name, number, bytes }) => timelineOf(name) === timelineAt(path, number, bytes))
}

/** Whether this file is on the path from its beginning to its end. */
export function fileIsOnPath(path: Path, name: string, segment_bytes: number): boolean {
  return timelineOf(name) === timelineAt(path, segmentNumberOf(name, segment_bytes), segment_bytes)
}

export function fileAt(path: Path, position: number, segment_bytes: number): string {
  const number = Math.floor(position / segment_bytes)
  const timeline = timelineAt(path, number, segment_bytes)
  return segmentNameOf(timeline, number, segment_bytes)
}

/** The name of the first segment that is missing between the first name and the last segment of the path. */
export function firstGap(segments: readonly Segment[], first_name: string, path: Path): string | undefined {
  const needed = onPath(segments, path)
  const last = needed.at(-1)
  if (last === undefined) return first_name
  const there = new Set(needed.map((segment) => segment.number))
  for (let number = segmentNumberOf(first_name, last.bytes); number <= last.number; number++) {
    if (!there.has(number)) return fileAt(path, number * last.bytes, last.bytes)
  }
  return undefined
}

/**
 * The last that begins there or before: by halves, for a service's user may have written a history of a hundred thousand lines, and each of
 * its files is looked up.
 */
function timelineAt(path: Path, number: number, segment_bytes: number): number {
  let [low, high] = [0, path.length]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (Math.floor((path[middle]?.from ?? 0) / segment_bytes) <= number) low = middle + 1
    else high = middle
  }
  return path[low - 1]?.timeline ?? 0
}
