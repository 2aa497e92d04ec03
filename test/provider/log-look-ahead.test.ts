// A log that is large enough to be looked through in threads ahead of a search. A search that finds them busy reads every file itself, so two
// at once show that both ways find the same.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FileQuery, lookAhead, type Looked } from '#providers/local/log/look-ahead.ts'
import { type PageQuery, readPage } from '#providers/local/log/page.ts'

const folder = mkdtempSync(join(tmpdir(), 'howdah-log-'))
const filler_bytes = 22 * 1024 ** 2
const everything: PageQuery = { skip: 0, limit: 500, search: [], severities: [] }
const first_ms = Date.UTC(2026, 10, 15)
const hour_ms = 3_600_000

const names = ['000000', '010000', '020000', '030000', '040000'].map((time) => `postgresql-20261115-${time}.json`)

/** Each file has an hour. */
function lineOf(file: number, error_severity: string, message: string): string {
  const timestamp = new Date(first_ms + file * hour_ms).toISOString().replace('T', ' ').replace('Z', ' UTC')
  return `${JSON.stringify({ timestamp, pid: 7, error_severity, message, backend_type: 'client backend' })}\n`
}

beforeAll(() => {
  for (const [file, name] of names.entries()) {
    const filler = lineOf(file, 'LOG', 'nothing of note')
    const half = filler.repeat(file === names.length - 1 ? 1 : filler_bytes / 2 / filler.length)
    const rare = file % 2 === 0 ? lineOf(file, 'ERROR', `a Needle in file ${file}`) : ''
    writeFileSync(join(folder, name), half + rare + half)
  }
  symlinkSync(join(folder, names[0] ?? ''), join(folder, 'postgresql-20261114-000000.json'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each([
  { what: 'a term', query: { search: ['needle'] }, files: [4, 2, 0] },
  { what: 'a severity', query: { severities: ['ERROR'] }, files: [4, 2, 0] },
  { what: 'a term that is nowhere', query: { search: ['haystack'] }, files: [] },
  { what: 'a term since a moment', query: { search: ['needle'], since_ms: first_ms + hour_ms }, files: [4, 2] },
  { what: 'a term until a moment', query: { search: ['needle'], until_ms: first_ms + 3 * hour_ms }, files: [2, 0] },
  { what: 'a term, a page of one entry', query: { search: ['needle'], limit: 1 }, files: [4] },
])('$what is found in the same files with threads and without', async ({ query, files }) => {
  const asked = { ...everything, ...query }
  const [one, other] = await Promise.all([1, 2].map(() => readPage({ folder, node: 0 }, asked, undefined)))
  expect(one).toEqual(other)
  expect(one?.entries.map(({ message }) => message)).toEqual(files.map((file) => `a Needle in file ${file}`))
})

test('a file without a match is passed over, and so is one that is not the log’s own', async () => {
  const asked = ['postgresql-20261114-000000.json', ...names].map((name) => ({
    folder,
    name,
    search: ['needle'],
    severities: [],
  }))
  const found = await looked(asked)
  expect(found.map(({ may_match }) => may_match)).toEqual([false, true, false, true, false, true])
})

test('a small log is worth no threads', async () => {
  const asked = { folder, name: names.at(-1) ?? '', search: ['needle'], severities: [] }
  expect(await looked([asked])).toEqual([])
})

async function looked(files: readonly FileQuery[]): Promise<Looked[]> {
  const found: Looked[] = []
  for await (const one of lookAhead(files)) found.push(one)
  return found
}
