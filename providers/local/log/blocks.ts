// Reads a file backwards in blocks of whole lines, the newest first, without ever holding more than a few blocks.
// 1. Every complete line between `low` and `high` is in exactly one block. What follows the last line break is a line still
//    being written, and left out. 2. A line that is longer than a line may be comes by itself, as its place only. 3. A
//    block is valid until the next one is asked for: its memory is used again.
import { readAt } from './files.ts'

/** Memory for blocks: each buffer takes a block, the line that crosses its end, and some room for reading beyond. */
export type BlockMemory = { buffers: readonly Buffer[]; block_bytes: number }

export type Block =
  /** Whole lines from `from` to `to` in the buffer with this index; byte 0 of the buffer is byte `base` of the file. */
  | { kind: 'lines'; index: number; bytes: Buffer; from: number; to: number; base: number }
  | { kind: 'long line'; start: number; end: number }

export const line_bytes_max = 128 * 1024
const room_bytes = 1024
const line_break = 10

export function bufferBytesOf(block_bytes: number): number {
  return block_bytes + line_bytes_max + room_bytes
}

export async function* blocksBackwards(
  { fd, low, high }: { fd: number; low: number; high: number },
  memory: BlockMemory,
): AsyncGenerator<Block> {
  const reads = newReads(fd, low, high, memory)
  // The end of a line that starts in an older block; `long_end` instead when it has outgrown a line.
  let carry: Buffer | undefined
  let long_end: number | undefined
  let tail_found = false
  try {
    for (let read = await reads.next(); read !== undefined; read = await reads.next()) {
      const { index, bytes, start, length } = read
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
      if (from < to) yield { kind: 'lines', index, bytes, from, to, base: start }
    }
  } finally {
    await reads.settle()
  }
}

type Read = { index: number; bytes: Buffer; start: number; length: number }

/** Reads the blocks from high to low, the next ones already while the last one is being looked at. */
function newReads(fd: number, low: number, high: number, { buffers, block_bytes }: BlockMemory) {
  const under_way: Promise<Read>[] = []
  let next_end = high
  let count = 0
  /** False when nothing is left to read. */
  const begin = (): boolean => {
    const start = Math.max(low, next_end - block_bytes)
    const index = count % buffers.length
    const bytes = buffers[index]
    if (bytes === undefined || next_end <= low) return false
    const read = readFully(fd, bytes, start, next_end - start).then((length) => ({ index, bytes, start, length }))
    // Whoever stops early does not wait for the rest; a failure is met by whoever waits.
    read.catch(() => undefined)
    under_way.push(read)
    next_end = start
    count += 1
    return true
  }
  return {
    next: async (): Promise<Read | undefined> => {
      // One buffer is still in the hands of the caller until it asks for the next block.
      while (under_way.length < Math.max(1, buffers.length - 1) && begin());
      return await under_way.shift()
    },
    settle: async () => void (await Promise.allSettled(under_way)),
  }
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
