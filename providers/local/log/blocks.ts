// Reads a file backwards in blocks of whole lines, the newest first, without ever holding more than one block.
// 1. Every complete line between `low` and `high` is in exactly one block. The bytes after the last line break are a line still
//    being written, and left out. 2. A line longer than the maximum comes by itself, as a range without its bytes. 3. A
//    block is valid until the next one is asked for: its memory is used again.
import { readAt } from './files.ts'

export type Range = { fd: number; low: number; high: number }

/** Whole lines from `from` to `to` in these bytes, the first of which is byte `base` of the file. */
export type Lines = { kind: 'lines'; bytes: Buffer; from: number; to: number; base: number }
type LongLine = { kind: 'long line'; start: number; end: number }

export const line_bytes_max = 128 * 1024
const line_break = 10

type Block = { bytes: Buffer; start: number; length: number }

export async function* blocksBackwards(
  { fd, low, high }: Range,
  block_bytes: number,
): AsyncGenerator<Lines | LongLine> {
  let [bytes_of_one, bytes_of_other] = [newMemory(block_bytes), newMemory(block_bytes)]
  const readBefore = (end: number) => {
    ;[bytes_of_one, bytes_of_other] = [bytes_of_other, bytes_of_one]
    return readBlock(fd, bytes_of_one, Math.max(low, end - block_bytes), end)
  }
  // The end of a line that starts in an older block; `long_end` instead when it has outgrown a line.
  let carry: Buffer | undefined
  let long_end: number | undefined
  let tail_found = false
  let [end, ahead]: [number, Promise<Block> | undefined] = [high, undefined]
  try {
    while (end > low) {
      const { bytes, start, length }: Block = await (ahead ?? readBefore(end))
      // While the caller works on one block the next one is read, which saves a fifth of a search of a gigabyte; not behind the first, which
      // is enough for most callers.
      ahead = end < high && start > low ? readBefore(start) : undefined
      end = start
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
      // Copied, because the memory is read into again before the line is complete.
      carry = from > 0 && long_end === undefined ? Buffer.from(bytes.subarray(0, from)) : undefined
      if (from < to) yield { kind: 'lines', bytes, from, to, base: start }
    }
  } finally {
    // The caller closes the file afterwards.
    await ahead?.catch(() => undefined)
  }
}

/** With space for the line that crosses the end of a block. */
const newMemory = (block_bytes: number) => Buffer.allocUnsafeSlow(block_bytes + line_bytes_max)

async function readBlock(fd: number, bytes: Buffer, start: number, end: number): Promise<Block> {
  let length = 0
  while (start + length < end) {
    const { bytesRead } = await readAt(fd, bytes, length, end - start - length, start + length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return { bytes, start, length }
}
