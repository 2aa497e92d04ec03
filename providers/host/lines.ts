// The lines of a stream. A line feed ends a line and nothing else does: Node's readline takes U+2028 and U+2029 for ends, too, which any
// text inside a line of JSON may have.
import type { Readable } from 'node:stream'

/** What a line has beyond these characters, and the piece that they end in, is left out. */
export async function* linesOf(stream: Readable, characters_max = Infinity): AsyncGenerator<string> {
  let begun = ''
  for await (const piece of stream.setEncoding('utf8')) {
    const [first = '', ...others] = String(piece).split('\n')
    if (begun.length < characters_max) begun += first
    if (others.length === 0) continue
    yield begun
    begun = others.pop() ?? ''
    yield* others
  }
  if (begun !== '') yield begun
}
