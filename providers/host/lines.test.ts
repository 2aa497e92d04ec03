// What is a line, however the stream is cut into pieces.
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { linesOf } from './lines.ts'

async function listLines(pieces: readonly Buffer[], characters_max?: number): Promise<string[]> {
  const lines: string[] = []
  for await (const line of linesOf(Readable.from(pieces, { objectMode: false }), characters_max)) lines.push(line)
  return lines
}

test('a line ends at a line feed alone, wherever a piece ends', async () => {
  const lines = ['{"name":"a\u2028b\u2029c\u0085d"}', '', 'a\rb', 'the last']
  const bytes = Buffer.from(lines.join('\n'))
  for (const length of [1, 3, 7, bytes.length]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) =>
      bytes.subarray(at * length, (at + 1) * length),
    )
    expect(await listLines(pieces)).toEqual(lines)
  }
  expect(await listLines([Buffer.from('one\n')])).toEqual(['one'])
})

test('a line that does not end is not kept beyond its limit, and the next one is whole', async () => {
  const pieces = [...Array<string>(1000).fill('0123456789'), 'the last of it\nthe next', ' one\n']
  const lines = await listLines(
    pieces.map((piece) => Buffer.from(piece)),
    25,
  )
  expect(lines).toEqual(['012345678901234567890123456789', 'the next one'])
})
