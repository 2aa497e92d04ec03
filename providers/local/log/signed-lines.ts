// The lines of a file in which signs are, from the end to the start. Threads look for the signs, some stretches ahead; here
// the lines around the places they find are read. A line comes once, and only when it is complete: what follows the last
// line break is still being written.
import { readSync } from 'node:fs'
import { line_bytes_max, type Lines, type LongLine, type Range } from './blocks.ts'
import { readAt } from './files.ts'
import type { ScannerPool } from './scanner-pool.ts'
import type { Sign } from './search.ts'

/** How far a thread looks at a time. It goes from file to file: what was rare in one is rare in the next. */
export type Pace = { stretch_bytes: number }

/** As much as a page has, in case that every line has a sign. */
const stretch_bytes_min = 256 * 1024
/** So much that asking a thread costs little beside what it does. */
const stretch_bytes_max = 8 * 1024 ** 2
/** Where more is found, a page may be complete soon: then no further than needed. */
const places_few = 100
/** They do not end in the order in which they began, and no thread is to wait for us. */
const stretches_per_thread = 4
const window_bytes = 64 * 1024
const line_break = 10

export const newPace = (): Pace => ({ stretch_bytes: stretch_bytes_min })

export async function* signedLines(
  range: Range,
  signs: readonly Sign[],
  pool: ScannerPool,
  pace: Pace,
): AsyncGenerator<Lines | LongLine> {
  const lineAround = newLineFinder(range)
  let line_start = Infinity
  for await (const places of placesBackwards(range, signs, pool, pace)) {
    for (const place of places.toReversed()) {
      if (place >= line_start) continue
      const line = await lineAround(place)
      line_start = line.kind === 'lines' ? line.base + line.from : line.start
      if (line.kind !== 'torn line') yield line
    }
  }
}

/** Stretch by stretch; within one in the order of the file. */
async function* placesBackwards({ fd, low, high }: Range, signs: readonly Sign[], pool: ScannerPool, pace: Pace) {
  const sign_bytes_max = Math.max(...signs.map(({ values }) => values.length))
  const under_way: Promise<number[]>[] = []
  let end = high
  try {
    for (;;) {
      while (end > low && under_way.length < stretches_per_thread * pool.count) {
        // Towards the start ever less, so that all threads are done with the file at the same time.
        const share_bytes = Math.max(stretch_bytes_min, Math.ceil((end - low) / pool.count))
        const from = Math.max(low, end - Math.min(pace.stretch_bytes, share_bytes))
        // A sign that starts before the end may reach beyond it.
        const found = pool.ask({ fd, from, to: Math.min(high, end + sign_bytes_max - 1), signs })
        // Whoever stops early does not wait for the rest; a failure is met by whoever waits.
        found.catch(() => undefined)
        under_way.push(found)
        end = from
      }
      const places = await under_way.shift()
      if (places === undefined) return
      const more_bytes = Math.min(2 * pace.stretch_bytes, stretch_bytes_max)
      pace.stretch_bytes = places.length > places_few ? stretch_bytes_min : more_bytes
      yield places
    }
  } finally {
    // The file is closed when we are done.
    await Promise.allSettled(under_way)
  }
}

type TornLine = { kind: 'torn line'; start: number }

/** Finds the line around a place. What it returns is valid until it is asked again. */
function newLineFinder({ fd, low, high }: Range) {
  const bytes = Buffer.allocUnsafeSlow(window_bytes)
  let base = high
  let length = 0
  return async (place: number): Promise<Lines | LongLine | TornLine> => {
    if (place < base || place >= base + length) {
      // Places come from the end to the start, so most of what is read lies before this one.
      base = Math.max(low, place - (window_bytes * 3) / 4)
      length = readSync(fd, bytes, 0, Math.min(window_bytes, high - base), base)
    }
    const inside = bytes.subarray(0, length)
    const before = inside.subarray(0, Math.max(0, place - base)).lastIndexOf(line_break)
    const after = inside.indexOf(line_break, place - base)
    if (after >= 0 && (before >= 0 || base === low)) {
      return { kind: 'lines', bytes, from: before + 1, to: after + 1, base }
    }
    const start = await startOfLine(fd, low, place)
    const end = await endOfLine(fd, place, high)
    if (end === undefined) return { kind: 'torn line', start }
    if (end - start > line_bytes_max) return { kind: 'long line', start, end }
    const line = Buffer.alloc(end - start)
    await readAt(fd, line, 0, line.length, start)
    return { kind: 'lines', bytes: line, from: 0, to: line.length, base: start }
  }
}

async function startOfLine(fd: number, low: number, place: number): Promise<number> {
  const bytes = Buffer.allocUnsafe(window_bytes)
  for (let end = place; end > low;) {
    const from = Math.max(low, end - window_bytes)
    const { bytesRead } = await readAt(fd, bytes, 0, end - from, from)
    const found = bytes.subarray(0, bytesRead).lastIndexOf(line_break)
    if (found >= 0) return from + found + 1
    end = from
  }
  return low
}

/** After its line break. */
async function endOfLine(fd: number, place: number, high: number): Promise<number | undefined> {
  const bytes = Buffer.allocUnsafe(window_bytes)
  for (let from = place; from < high;) {
    const { bytesRead } = await readAt(fd, bytes, 0, Math.min(window_bytes, high - from), from)
    if (bytesRead === 0) return undefined
    const found = bytes.subarray(0, bytesRead).indexOf(line_break)
    if (found >= 0) return from + found + 1
    from += bytesRead
  }
  return undefined
}
