// The log reader against a naive reader of everything: generated files with rotation, garbage, torn and very long
// lines, equal and disordered times; any filters, any page size, followed by cursors to the end.
import fc from 'fast-check'
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, open, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { line_bytes_max } from '#providers/local/log/blocks.ts'
import type { LogPosition } from '#providers/local/log/cursor.ts'
import { type PageQuery, readPage } from '#providers/local/log/page.ts'
import { seekTime } from '#providers/local/log/seek.ts'
import type { LogEntry } from '#providers/log.ts'

const folder = mkdtempSync(join(tmpdir(), 'howdah-log-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const log = { folder, node: 0 }
const everything: PageQuery = { skip: 0, limit: 500, search: [], severities: [] }
const epoch_ms = Date.UTC(2026, 10, 15)

type Line = { time_ms: number; severity: string; message: string; detail?: string } | { raw: string }

const nameOf = (at: number) => `postgresql-20261114-${String(at).padStart(6, '0')}.json`

function textOf(line: Line): string {
  if ('raw' in line) return line.raw
  const timestamp = stampOf(line.time_ms)
  const { severity: error_severity, message, detail } = line
  return JSON.stringify({ timestamp, pid: 7, error_severity, message, detail, backend_type: 'client backend' })
}

const shownOf = ({ message, detail }: { message: string; detail?: string }) =>
  detail === undefined ? message : `${message}\nDETAIL:  ${detail}`

const stampOf = (time_ms: number) => new Date(time_ms).toISOString().replace('T', ' ').replace('Z', ' UTC')

/** Oldest file first; the last one may end in the middle of a line. */
async function writeFiles(files: readonly (readonly Line[])[], torn = ''): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder)
  for (const [at, lines] of files.entries()) {
    const text = lines.map((line) => `${textOf(line)}\n`).join('')
    await writeFile(join(folder, nameOf(at)), at === files.length - 1 ? text + torn : text)
  }
}

async function follow(query: PageQuery): Promise<LogEntry[][]> {
  const pages: LogEntry[][] = []
  let after: LogPosition | undefined
  do {
    const page = await readPage(log, query, after)
    pages.push(page.entries)
    after = page.next
  } while (after !== undefined && pages.length < 1_000)
  return pages
}

/** The same by reading everything, as pages of the query's size. */
function naivePages(files: readonly (readonly Line[])[], query: PageQuery): LogEntry[][] {
  const { search, severities, since_ms = -Infinity, until_ms = Infinity, limit } = query
  const wanted = files
    .flat()
    .toReversed()
    .filter((line) => 'message' in line)
    .filter(({ time_ms }) => time_ms > since_ms && time_ms < until_ms)
    .filter(({ severity }) => severities.length === 0 || severities.includes(severity))
    .map((line) => ({ ...line, message: shownOf(line) }))
    .filter(({ message }) => search.every((term) => message.toLowerCase().includes(term.toLowerCase())))
  const pages: LogEntry[][] = []
  for (let at = 0; at < Math.max(1, wanted.length); at += limit) {
    const page = wanted.slice(at, at + limit).toSorted((a, b) => b.time_ms - a.time_ms)
    pages.push(
      page.map(({ time_ms, severity, message }) => ({
        timestamp: new Date(time_ms).toISOString(),
        severity,
        message,
        process_id: 7,
      })),
    )
  }
  return pages
}

const words = [
  'Alpha',
  'BETA',
  'gamma',
  'ÜBER',
  'Straße',
  'ΣΊΣΥΦΟΣ',
  '数据库',
  'tab\there',
  'two\nlines',
  '"quoted"',
  '\\',
  '🐘',
  'kin',
  'a',
]
const message = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 5 }).map((some) => some.join(' '))
const entry = fc.record({
  // Few distinct times, in order but for a little.
  step: fc.nat(3),
  jitter: fc.nat(2),
  severity: fc.constantFrom('LOG', 'ERROR', 'WARNING', 'FATAL'),
  message,
  detail: fc.option(message, { nil: undefined }),
})
const garbage = fc
  .constantFrom(
    '',
    'not json at all',
    '{"timestamp":"<now>","error_severity":"ERROR","message":"torn',
    '{"timestamp":"yesterday","error_severity":"LOG","message":"alpha"}',
    '[1,2,3]',
    '{"timestamp":"<now>"}',
  )
  .map((raw) => ({ raw }))

const log_files = fc
  .array(fc.array(fc.oneof({ weight: 6, arbitrary: entry }, { weight: 1, arbitrary: garbage }), { maxLength: 30 }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((files) => {
    let now = epoch_ms
    return files.map((lines) =>
      lines.map((line): Line => {
        if ('raw' in line) return { raw: line.raw.replace('<now>', stampOf(now)) }
        now += line.step * 400
        const { severity, message, detail, jitter } = line
        return { time_ms: now - jitter * 100, severity, message, ...(detail !== undefined && { detail }) }
      }),
    )
  })

const query = fc.record(
  {
    limit: fc.integer({ min: 1, max: 20 }),
    search: fc.array(
      fc.constantFrom(
        'alpha',
        'beta',
        'über',
        'STRASSE',
        'straße',
        '据',
        'b\tx',
        '\there',
        'two\nl',
        '"q',
        '\\',
        '🐘',
        'KI',
        'A',
        'zzz',
        'detail',
        ' alpha',
        ':  ',
        'L:  Be',
        'a\nd',
        'tail:  gamma',
        '\ndetail:  kin',
        'masked',
        'hint',
        'σί',
      ),
      { maxLength: 2 },
    ),
    severities: fc.subarray(['LOG', 'ERROR', 'PANIC']),
    since_ms: fc.nat(40_000).map((ms) => epoch_ms + ms),
    until_ms: fc.nat(40_000).map((ms) => epoch_ms + ms),
  },
  { requiredKeys: ['limit', 'search', 'severities'] },
)

test('every page of every query is what a naive reader finds', async () => {
  await fc.assert(
    fc.asyncProperty(log_files, query, fc.constantFrom('', '{"timestamp":"2026'), async (files, asked, torn) => {
      await writeFiles(files, torn)
      const whole: PageQuery = { ...everything, ...asked }
      expect(await follow(whole)).toEqual(naivePages(files, whole))
    }),
    { numRuns: 200 },
  )
})

test('a position is found by its time as by reading every line', async () => {
  await fc.assert(
    fc.asyncProperty(log_files, fc.nat(40_000), async (files, ms) => {
      await writeFiles(files.slice(0, 1))
      const lines = files[0] ?? []
      const sorted = lines.filter((line) => 'message' in line).map(({ time_ms }) => time_ms)
      fc.pre(!lines.some((line) => 'raw' in line && line.raw.includes(' UTC')))
      fc.pre(sorted.every((time_ms, at) => at === 0 || (sorted[at - 1] ?? 0) <= time_ms))
      let expected = 0
      let found: number | undefined
      for (const line of lines) {
        if ('message' in line && line.time_ms >= epoch_ms + ms) found ??= expected
        expected += Buffer.byteLength(textOf(line)) + 1
      }
      const handle = await open(join(folder, nameOf(0)))
      try {
        expect((await seekTime(handle.fd, expected, epoch_ms + ms)).offset).toBe(found ?? expected)
      } finally {
        await handle.close()
      }
    }),
    { numRuns: 200 },
  )
})

describe('the world moves between two pages', () => {
  const lines = Array.from({ length: 30 }, (_, at): Line => ({
    time_ms: epoch_ms + at,
    severity: 'LOG',
    message: `entry ${at}`,
  }))
  const messages = (page: { entries: readonly LogEntry[] }) => page.entries.map(({ message }) => message)

  test('entries that arrive and files that begin change nothing about older pages', async () => {
    await writeFiles([lines.slice(0, 10), lines.slice(10, 20)])
    const first = await readPage(log, { ...everything, limit: 7 }, undefined)
    await writeFile(join(folder, nameOf(1)), `${textOf(lines[20] as Line)}\n`, { flag: 'a' })
    await writeFile(join(folder, nameOf(2)), `${textOf(lines[21] as Line)}\n`)
    const second = await readPage(log, { ...everything, limit: 7 }, first.next)
    expect(messages(first)).toEqual(
      lines
        .slice(13, 20)
        .toReversed()
        .map((line) => 'message' in line && line.message),
    )
    expect(messages(second)).toEqual(
      lines
        .slice(6, 13)
        .toReversed()
        .map((line) => 'message' in line && line.message),
    )
  })

  test('a place that retention removed has nothing older', async () => {
    await writeFiles([lines.slice(0, 10), lines.slice(10, 20)])
    const first = await readPage(log, { ...everything, limit: 15 }, undefined)
    await rm(join(folder, nameOf(0)))
    expect(await readPage(log, { ...everything, limit: 15 }, first.next)).toEqual({
      entries: [],
      placed: [],
      next: undefined,
    })
  })

  test('a file that was cut short is read as far as it goes', async () => {
    await writeFiles([lines])
    const first = await readPage(log, { ...everything, limit: 5 }, undefined)
    await truncate(join(folder, nameOf(0)), textOf(lines[0] as Line).length + 1)
    expect(messages(await readPage(log, everything, first.next))).toEqual(['entry 0'])
  })

  test('a link in the folder is not followed', async () => {
    await writeFiles([lines.slice(0, 3)])
    await writeFile(join(folder, 'elsewhere'), `${textOf(lines[5] as Line)}\n`)
    await symlink(join(folder, 'elsewhere'), join(folder, nameOf(5)))
    expect(messages(await readPage(log, everything, undefined))).toEqual(['entry 2', 'entry 1', 'entry 0'])
  })
})

describe('odd entries', () => {
  const at = (message: string): Line => ({ time_ms: epoch_ms, severity: 'LOG', message })

  test('a very long message is cut with a note, and its neighbours are there', async () => {
    for (const length of [9_000, line_bytes_max + 1, 3_000_000]) {
      await writeFiles([[at('before'), at('é'.repeat(length)), at('after')]])
      const { entries } = await readPage(log, everything, undefined)
      expect(entries).toHaveLength(3)
      expect(entries[1]?.message).toMatch(/^é{8192}… \[cut: (\d+ more characters|an entry of \d+ bytes)\]$/)
      const searched = await readPage(log, { ...everything, search: ['ÉÉÉ'] }, undefined)
      expect(searched.entries).toHaveLength(1)
    }
  })

  test('bytes that are not UTF-8 become replacement characters', async () => {
    await writeFiles([[at('before'), at('bro?ken')]])
    const bytes = Buffer.from(`${textOf(at('bro?ken'))}\n`)
    bytes[bytes.indexOf('?')] = 0xff
    await writeFile(join(folder, nameOf(0)), bytes)
    const { entries } = await readPage(log, everything, undefined)
    expect(entries.map(({ message }) => message)).toEqual(['bro\ufffdken'])
  })

  test('what the control plane does itself is not shown', async () => {
    const own = JSON.stringify({ ...JSON.parse(textOf(at('connection authorized: user=postgres'))), user: 'postgres' })
    const reset = JSON.parse(textOf(at('could not receive data from client: Connection reset by peer')))
    const probe = JSON.stringify({ ...reset, user: 'tsdbadmin', ps: 'authentication' })
    const knock = at('connection received: host=127.0.0.1 port=5')
    await writeFiles([[{ raw: own }, { raw: probe }, knock, at('checkpoint complete')]])
    const { entries } = await readPage(log, everything, undefined)
    expect(entries.map(({ message }) => message)).toEqual(['checkpoint complete'])
  })
})
