// Finds the position of a moment in a log file by bisection: entries lie in the order of their times, or nearly so. It reads
// a few kilobytes at some twenty positions, whatever the size of the file; and where a line is very long, none of it twice.
import { timeAt } from '../../postgres/log-entry.ts'
import { readAt } from './files.ts'

const probe_bytes = 8 * 1024
const long_line_bytes = 512 * 1024
/** Enough to read the time at a line's start. */
const time_bytes = 64
const line_break = 10

/** `offset`: the start of the first line with this time or a later one, `size` when there is none; `earlier`: whether one
 * with an earlier time lies before it. */
export async function seekTime(
  fd: number,
  size: number,
  time_ms: number,
): Promise<{ offset: number; earlier: boolean }> {
  const buffer = Buffer.allocUnsafe(probe_bytes)
  let low = 0
  let high = size
  let found_at = size
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    // Lines that start at or after `high` have been read.
    const found = await firstEntryBetween(fd, buffer, middle, high, size)
    if (found !== undefined && found.time_ms < time_ms) {
      low = found.start + 1
    } else {
      high = middle
      if (found !== undefined) found_at = found.start
    }
  }
  return { offset: found_at, earlier: low > 0 }
}

/** The first line with a time that starts at or after the first byte and before the second. */
async function firstEntryBetween(fd: number, buffer: Buffer, first: number, before: number, size: number) {
  // A line starts at 0 and after every line break.
  let at = Math.max(0, first - 1)
  let at_line_start = first === 0
  let memory = buffer
  while (at < before) {
    const { bytesRead } = await readAt(fd, memory, 0, memory.length, at)
    if (bytesRead === 0) return undefined
    const bytes = memory.subarray(0, bytesRead)
    let line = at_line_start ? 0 : bytes.indexOf(line_break) + 1
    while (at_line_start || line > 0) {
      if (at + line >= before) return undefined
      // Too close to the end of the read bytes: read again from there.
      if (line + time_bytes > bytes.length && at + bytes.length < size) break
      at_line_start = false
      const time_ms = timeAt(bytes, line)
      if (time_ms !== undefined) return { start: at + line, time_ms }
      line = bytes.indexOf(line_break, line) + 1
    }
    at_line_start = at_line_start || line > 0
    at += at_line_start ? line : bytes.length
    // In a very long line.
    if (!at_line_start && memory === buffer) memory = Buffer.allocUnsafe(long_line_bytes)
  }
  return undefined
}
