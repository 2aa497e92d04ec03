// The lines of a block that may match a search, newest first. Pure. The block is read as Latin-1, a character a byte,
// which costs a fraction of decoding it; so the pattern is one of bytes.
import type { Lines } from './blocks.ts'
import type { Search } from './search.ts'

/** From its first byte to its line break, in the bytes of the block. */
type LineRange = { start: number; end: number }

export type LineSearch = Pick<Search, 'mayBeIn' | 'pattern'>

/** About so many are read as one text: longer texts are laid out by V8 in another way, and take twice the time. */
const text_bytes = 64 * 1024
const line_break = '\n'

/** A match of the pattern lies within a line. */
export function matchingLines({ bytes, from, to }: Lines, { mayBeIn, pattern }: LineSearch): LineRange[] {
  const lines: LineRange[] = []
  for (let start = from; start < to;) {
    const end = 1 + bytes.indexOf(line_break, Math.min(start + text_bytes, to - 1))
    if (mayBeIn(bytes.subarray(start, end))) {
      const text = bytes.toString('latin1', start, end)
      for (const line of matchingIn(text, pattern)) lines.push({ start: start + line.start, end: start + line.end })
    }
    start = end
  }
  return lines.toReversed()
}

function* matchingIn(text: string, pattern: RegExp | undefined): Generator<LineRange> {
  for (let at = 0; at < text.length;) {
    const found = pattern === undefined ? at : indexOf(text, pattern, at)
    if (found < 0) return
    const start = found === at ? at : Math.max(at, text.lastIndexOf(line_break, found - 1) + 1)
    const end = text.indexOf(line_break, found)
    yield { start, end }
    at = end + 1
  }
}

function indexOf(text: string, pattern: RegExp, from: number): number {
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? -1
}
