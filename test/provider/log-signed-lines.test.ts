// Lines found by signs in large files: each line with a sign comes once, whole, from the last to the first, wherever the
// borders of what is read lie; torn and very long lines among them.
import fc from 'fast-check'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { line_bytes_max } from '#providers/local/log/blocks.ts'
import { newScannerPool } from '#providers/local/log/scanner-pool.ts'
import { exactSign, newSearch } from '#providers/local/log/search.ts'
import { newPace, signedLines } from '#providers/local/log/signed-lines.ts'

const folder = mkdtempSync(join(tmpdir(), 'howdah-signed-'))
const pool = newScannerPool()
afterAll(async () => {
  await pool.close()
  rmSync(folder, { recursive: true, force: true })
})
const path = join(folder, 'log')

test('every line with a sign comes once, whatever the sizes', async () => {
  const length = fc.oneof(
    { weight: 6, arbitrary: fc.nat(300) },
    { weight: 2, arbitrary: fc.nat(80_000) },
    { weight: 1, arbitrary: fc.nat(3 * line_bytes_max) },
  )
  const line = fc.record({ length, words: fc.array(fc.tuple(fc.constantFrom('Sign', 'sIGN', 'mark'), fc.double())) })
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 60 }), fc.boolean(), async (lines, torn) => {
      const texts = lines.map(({ length: bytes, words }) => textOf(bytes, words))
      writeFileSync(
        path,
        texts.map((text) => `${text}\n`).join('') + (torn ? `a torn sign ${'-'.repeat(100_000)}` : ''),
      )
      const wanted = texts.filter((text) => /sign|mark/i.test(text))
      expect((await found()).toReversed()).toEqual(wanted)
    }),
    { numRuns: 150 },
  )
})

test('many signs in one huge line, complete or torn, are one line or none', async () => {
  const huge = 'sign '.repeat(4_000_000)
  writeFileSync(path, `before sign\n${huge}\nsign after\n${huge}`)
  const all = await found()
  expect(all.map((text) => text.length)).toEqual(['sign after'.length, huge.length, 'before sign'.length])
})

test('whoever stops early leaves nothing that reads a closed file', async () => {
  writeFileSync(path, 'a line with a sign\n'.repeat(2_000_000))
  for (let at = 0; at < 20; at += 1) expect(await found(1)).toEqual(['a line with a sign'])
})

test('a file that cannot be read fails the search, and the next one works', async () => {
  writeFileSync(path, 'a sign\n')
  const fd = openSync(folder, 'r')
  const lines = signedLines({ fd, low: 0, high: 1_000 }, newSearch(['sign']).signs, pool, newPace())
  await expect(lines.next()).rejects.toThrow('EISDIR')
  closeSync(fd)
  expect(await found()).toEqual(['a sign'])
})

function textOf(length: number, words: readonly (readonly [string, number])[]): string {
  let text = '.'.repeat(length)
  for (const [word, where] of words) {
    const at = Math.floor(Math.abs(where % 1) * length) || 0
    text = text.slice(0, at) + word + text.slice(at + word.length)
  }
  return text
}

async function found(count = Infinity): Promise<string[]> {
  const fd = openSync(path, 'r')
  const whole = readFileSync(path)
  const signs = [...newSearch(['sign']).signs, exactSign('mark')]
  const texts: string[] = []
  try {
    for await (const line of signedLines({ fd, low: 0, high: whole.length }, signs, pool, newPace())) {
      texts.push(
        line.kind === 'lines'
          ? line.bytes.toString('latin1', line.from, line.to - 1)
          : whole.toString('latin1', line.start, line.end - 1),
      )
      if (texts.length === count) break
    }
  } finally {
    closeSync(fd)
  }
  return texts
}
