// Finds a sign in blocks of raw log, about as fast as memory can be read: sixteen bytes a step, in WebAssembly, because
// neither Buffer.indexOf (no case folding) nor a regular expression comes near. Two bytes of the sign that are rare in logs
// are looked for; the rest of it is compared where both are found.
import { type FindPair, pair_finder } from './scanner-code.ts'
import type { Sign } from './search.ts'

export type Scanner = {
  /** Memory for the block that is scanned. */
  bytes: Buffer
  /** The first place of the sign at or after `from` and before `to`; -1 when there is none. */
  find(from: number, to: number, sign: Sign): number
}

export function newScanner(block_bytes: number): Scanner {
  const memory = new WebAssembly.Memory({ initial: Math.ceil((block_bytes + spare_bytes) / page_bytes) })
  const { exports } = new WebAssembly.Instance(pair_finder, { host: { memory } })
  // The module's two exports, both with this type.
  const [findPair, findRare] = [exports['findPair'] as FindPair, exports['findRare'] as FindPair]
  const bytes = Buffer.from(memory.buffer, 0, block_bytes)
  return {
    bytes,
    find: (from, to, sign) => {
      const [first, second] = sign.pair
      const findNext = sign.rare ? findRare : findPair
      const end = to - sign.values.length + 1
      const at = (place: number) => [sign.values[place] ?? 0, sign.folds[place] ?? 0] as const
      for (let start = from; start < end; start += 1) {
        const pair = findNext(start + first, end + first, second - first, ...at(first), ...at(second))
        if (pair < 0) return -1
        start = pair - first
        if (start < end && isAt(bytes, start, sign)) return start
      }
      return -1
    },
  }
}

/** Steps of 64 bytes may read this far beyond the end of the block. */
const spare_bytes = 4096
const page_bytes = 65_536

function isAt(bytes: Uint8Array, start: number, { values, folds }: Sign): boolean {
  for (let place = 0; place < values.length; place += 1) {
    if (((bytes[start + place] ?? 0) | (folds[place] ?? 0)) !== values[place]) return false
  }
  return true
}
