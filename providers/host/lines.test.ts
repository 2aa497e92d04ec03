// What is a line, however the stream is cut into pieces.
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { linesOf } from './lines.ts'

async function listLines(pieces: readonly Buffer[]): Promise<string[]> {
  const lines: string[] = []
  for await (const line of linesOf(Readable.from(pieces, { objectMode: false }))) lines.push(line)
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
