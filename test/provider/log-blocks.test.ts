// Files read backwards in blocks: no line is lost, doubled or torn, whatever the sizes of lines and blocks.
import fc from 'fast-check'
import { mkdtempSync, rmSync } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { blocksBackwards, line_bytes_max } from '#providers/local/log/blocks.ts'

const folder = mkdtempSync(join(tmpdir(), 'howdah-blocks-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('blocks', () => {
  test('every whole line is in exactly one block, whatever the sizes', async () => {
    const content = fc.array(fc.oneof({ weight: 5, arbitrary: fc.nat(90) }, { weight: 1, arbitrary: fc.nat(900) }), {
      maxLength: 40,
    })
    await fc.assert(
      fc.asyncProperty(content, fc.integer({ min: 1, max: 400 }), fc.boolean(), async (lengths, block_bytes, torn) => {
        const lines = lengths.map((length, at) => String.fromCharCode(97 + (at % 26)).repeat(length))
        const text = lines.map((line) => `${line}\n`).join('') + (torn ? 'torn' : '')
        expect(await linesOf(text, block_bytes)).toEqual(lines)
      }),
      { numRuns: 300 },
    )
  })

  test.each([line_bytes_max - 1, line_bytes_max, line_bytes_max + 1, 2 * line_bytes_max, 5 * line_bytes_max + 17])(
    'a line of %i bytes comes whole or as its place, between its neighbours',
    async (length) => {
      for (const block_bytes of [line_bytes_max / 4, line_bytes_max, 3 * line_bytes_max]) {
        const lines = ['before', 'x'.repeat(length), 'after', 'y'.repeat(length)]
        expect(await linesOf(lines.map((line) => `${line}\n`).join(''), block_bytes)).toEqual(lines)
      }
    },
  )

  async function linesOf(text: string, block_bytes: number): Promise<string[]> {
    const path = join(folder, 'blocks')
    await writeFile(path, text)
    const handle = await open(path)
    const found: string[] = []
    try {
      const range = { fd: handle.fd, low: 0, high: Buffer.byteLength(text) }
      for await (const block of blocksBackwards(range, block_bytes)) {
        const whole =
          block.kind === 'lines'
            ? block.bytes.toString('utf8', block.from, block.to)
            : text.slice(block.start, block.end)
        found.unshift(...whole.split('\n').slice(0, -1))
      }
    } finally {
      await handle.close()
    }
    return found
  }
})
