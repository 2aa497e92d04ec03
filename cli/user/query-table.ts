// What a statement gave, for people: aligned columns, then how many rows there are. Pure. Values are other people's words: what would move
// the cursor of a terminal is shown, not sent.
import type { QueryResult } from '#contract/query.ts'
import { alignedLines } from '../table.ts'
import { csvLine } from './output.ts'

const cell_chars_max = 80

export function queryTable({ columns, rows, row_count, truncated, notices, command }: QueryResult): string {
  const lines = [columns.map(({ name }) => shown(name)), ...rows.map((row) => row.map((value) => shown(value ?? '∅')))]
  const count = truncated ? partOf({ rows }) : `${command} ${row_count}`
  return [...(columns.length > 0 ? alignedLines(lines) : []), ...notices.map(shown), count].join('\n')
}

export function partOf({ rows }: Pick<QueryResult, 'rows'>): string {
  if (rows.length === 0) return 'the first row is larger than 1 MB, the most that an answer has; ask for less of it'
  return `the first ${rows.length === 1 ? 'row' : `${rows.length} rows`}; there are more`
}

/** The rows for programs, whole: null is an empty cell, as in PostgreSQL's own CSV. */
export function queryCsv({ columns, rows }: QueryResult): string {
  return [columns.map(({ name }) => name), ...rows.map((row) => row.map((value) => value ?? ''))]
    .map(csvLine)
    .join('\n')
}

function shown(value: string): string {
  const plain = value.replaceAll(/\p{C}/gu, (one) => {
    const escaped = JSON.stringify(one).slice(1, -1)
    return escaped === one ? '·' : escaped
  })
  return plain.length > cell_chars_max ? `${plain.slice(0, cell_chars_max - 1)}…` : plain
}
