// The table of a statement's answer.
import { expect, test } from 'vitest'
import { queryCsv, queryTable } from './query-table.ts'

const answer = {
  columns: [
    { name: 'id', type: 'integer' },
    { name: 'note', type: 'text' },
  ],
  rows: [
    ['1', 'first'],
    ['20', null],
  ],
  row_count: 2,
  truncated: false,
  took_ms: 1,
  notices: [],
  command: 'SELECT',
}

test('columns are aligned, and null is no text', () => {
  expect(queryTable(answer)).toBe('id  note\n1   first\n20  ∅\nSELECT 2')
})

test('what would move the cursor, or is long, is shown and not sent', () => {
  const shown = queryTable({ ...answer, rows: [['\u001b[2J\n\u009b', 'x'.repeat(200)]], truncated: true })
  expect(shown.split('\n')).toEqual([
    expect.any(String),
    expect.stringMatching(/^\\u001b\[2J\\n· +x{79}…$/),
    'the first row; there are more',
  ])
})

test('of a row that is too large for an answer nothing is shown, and the last line says so', () => {
  const [, last] = queryTable({ ...answer, rows: [], row_count: 1, truncated: true }).split('\n')
  expect(last).toBe('the first row is larger than 1 MB, the most that an answer has; ask for less of it')
})

test('a statement without rows says what it did, and what was noted', () => {
  expect(
    queryTable({ ...answer, columns: [], rows: [], row_count: 0, command: 'DROP', notices: ['NOTICE: gone'] }),
  ).toBe('NOTICE: gone\nDROP 0')
})

test('CSV has the rows, as they are', () => {
  const rows = [
    ['1', 'a, "b"'],
    ['2026-11-19T04:13:16.889Z', null],
  ]
  expect(queryCsv({ ...answer, rows })).toBe('id,note\n1,"a, ""b"""\n2026-11-19T04:13:16.889Z,')
})
