// Reads a file backwards in blocks of whole lines, the newest first, without ever holding more than one block.
// 1. Every complete line between `low` and `high` is in exactly one block. What follows the last line break is a line still
//    being written, and left out. 2. A line that is longer than a line may be comes by itself, as its place only. 3. A
//    block is valid until the next one is asked for: its memory is used again.
import { readAt } from './files.ts'

/** A part of an open file. */
export type Range = { fd: number; low: number; high: number }

/** Whole lines from `from` to `to` in these bytes, the first of which is byte `base` of the file. */
export type Lines = { kind: 'lines'; bytes: Buffer; from: number; to: number; base: number }
export type LongLine = { kind: 'long line'; start: number; end: number }

export const line_bytes_max = 128 * 1024
const line_break = 10

export async function* blocksBackwards(range: Range, block_bytes: number): AsyncGenerator<Lines | LongLine> {
  // With room for the line that crosses the end of a block.
  const bytes = takeMemory(block_bytes + line_bytes_max)
  try {
    yield* linesBackwards(range, block_bytes, bytes)
  } finally {
    kept_memory = bytes
  }
}

async function* linesBackwards(
  { fd, low, high }: Range,
  block_bytes: number,
  bytes: Buffer,
): AsyncGenerator<Lines | LongLine> {
  // The end of a line that starts in an older block; `long_end` instead when it has outgrown a line.
  let carry: Buffer | undefined
  let long_end: number | undefined
  let tail_found = false
  for (let start = high; start > low;) {
    const end = start
    start = Math.max(low, end - block_bytes)
    const length = await readFully(fd, bytes, start, end - start)
    const last_break = bytes.subarray(0, length).lastIndexOf(line_break)
    if (!tail_found && last_break < 0) continue
    let to = tail_found ? length : last_break + 1
    tail_found = true
    const first_break = start === low ? -1 : bytes.subarray(0, to).indexOf(line_break)
    const crosses = start !== low && first_break < 0
    if (long_end !== undefined) {
      if (crosses) continue
      to = last_break + 1
      yield { kind: 'long line', start: start + to, end: long_end }
      long_end = undefined
    } else if (carry !== undefined) {
      bytes.set(carry, to)
      to += carry.length
    }
    const from = crosses ? to : first_break + 1
    if (from > line_bytes_max) long_end = start + from
    // Copied, because the buffer is read into again before the line is complete.
    carry = from > 0 && long_end === undefined ? Buffer.from(bytes.subarray(0, from)) : undefined
    if (from < to) yield { kind: 'lines', bytes, from, to, base: start }
  }
}

/** That of the last one who was done: memory that is taken anew for each page keeps the garbage collector busy. */
let kept_memory: Buffer | undefined

function takeMemory(size: number): Buffer {
  const kept = kept_memory
  kept_memory = undefined
  return kept?.length === size ? kept : Buffer.allocUnsafeSlow(size)
}

async function readFully(fd: number, bytes: Buffer, start: number, length: number): Promise<number> {
  let done = 0
  while (done < length) {
    const { bytesRead } = await readAt(fd, bytes, done, length - done, start + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return done
}
