// The lines of a block that a pattern matches, against a plain filter over all of them; and the patterns of searches.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type LineSearch, matchingLines } from './matching-lines.ts'
import { newSearch } from './search.ts'

const lines = fc.array(fc.array(fc.constantFrom('a', 'B', 'zebra', 'ZEBRA', '.', '数', 'é', '-'), { maxLength: 6 }))

function found(texts: readonly string[], search: LineSearch): string[] {
  const before = 'what lies before the block\n'
  const bytes = Buffer.from(before + texts.map((text) => `${text}\n`).join(''))
  const block = { kind: 'lines', bytes, from: before.length, to: bytes.length, base: 0 } as const
  return matchingLines(block, search).map(({ start, end }) => bytes.toString('utf8', start, end))
}

const searchFor = (...search: string[]) => newSearch({ search, severities: [] })

test('each line that matches comes once, the newest first; without a pattern every line', () => {
  fc.assert(
    fc.property(lines, fc.constantFrom('zebra', 'bz', '-z', '数'), (some, term) => {
      const texts = some.map((words) => words.join(''))
      expect(found(texts, searchFor(term))).toEqual(
        texts.filter((text) => text.toLowerCase().includes(term)).toReversed(),
      )
      expect(found(texts, searchFor())).toEqual(texts.toReversed())
    }),
    { numRuns: 1_000 },
  )
})

test.each([
  ['kelvin', 'the \u212aelvin sign'],
  ['istanbul', 'ISTANBUL'],
  ['i\u0307', 'İ'],
  ['i', 'İ'],
  ['\ufffd', 'any byte outside ASCII: é'],
  ['σίσυφος', 'ΣΊΣΥΦΟΣ'],
  ['mit 数据 ü', 'MIT 数据 Ü'],
  ['a.b(c)*', 'A.B(C)*'],
  ['statement', '{"statement":"select 1"}'],
  ['query', '{"internal_query":"select 1"}'],
  ['x'.repeat(1_000), 'X'.repeat(1_000)],
])('a line that can hold %j is found', (term, line) => {
  expect(found(['nothing', line, 'nothing'], searchFor(term))).toContain(line)
})

test('a line of a process is found whatever its severity, and an entry of another is not accepted', () => {
  const search = newSearch({ search: [], severities: ['ERROR'], process_id: 47 })
  const texts = [47, 471, 4].map((pid) => `{"pid":${pid},"error_severity":"LOG"}`)
  expect(found(texts, search)).toEqual([texts[1], texts[0]])
  const entry = (process_id: number) => ({
    time_ms: 0,
    timestamp: '',
    severity: 'ERROR',
    text: '',
    writer: { process_id },
  })
  expect([47, 471].map((pid) => search.accepts(entry(pid)))).toEqual([true, false])
})

test('a line with one of several severities is found, and no other', () => {
  const search = newSearch({ search: [], severities: ['ERROR', 'FATAL'] })
  const texts = ['LOG', 'ERROR', 'PANIC', 'FATAL'].map(
    (severity) => `{"error_severity":"${severity}","message":"ERROR"}`,
  )
  expect(found(texts, search)).toEqual([texts[3], texts[1]])
})
