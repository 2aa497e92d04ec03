// A thread of the scanner pool: reads stretches of log files and tells where signs are in them, one after the other as they
// are asked for. It reads synchronously, block by block into the same small memory, so that what it scans is still in the
// processor's cache.
import { readSync } from 'node:fs'
import { answerWith } from '../host/threads.ts'
import { newScanner } from './scanner.ts'
import type { Sign } from './search.ts'

/** Bytes of an open file, and what to look for in them. */
export type Stretch = { fd: number; from: number; to: number; signs: readonly Sign[] }

const block_bytes = 256 * 1024
const line_break = 10

const scanner = newScanner(block_bytes)

answerWith(placesIn)

/** Where signs start, in order; of each sign one a line, and one more where a line goes on in another block. */
function placesIn({ fd, from, to, signs }: Stretch): number[] {
  const places: number[] = []
  // A sign that two blocks share is found in the second, so each begins with the end of the one before.
  const shared_bytes = Math.max(...signs.map(({ values }) => values.length)) - 1
  for (let base = from; base < to;) {
    const length = readSync(fd, scanner.bytes, 0, Math.min(block_bytes, to - base), base)
    for (const sign of signs) {
      for (let at = scanner.find(0, length, sign); at >= 0;) {
        places.push(base + at)
        const line_end = scanner.bytes.subarray(0, length).indexOf(line_break, at)
        at = line_end < 0 ? -1 : scanner.find(line_end, length, sign)
      }
    }
    if (length === 0 || base + length >= to) break
    base += Math.max(1, length - shared_bytes)
  }
  return places.sort((a, b) => a - b)
}
