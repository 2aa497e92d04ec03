// Lists for people and for programs: aligned columns, or JSON with --json. The rows are the same.

import { visibleAt } from './visible.ts'

export type Row = Record<string, string | number | boolean | null>

export function printRows(rows: readonly Row[], columns: readonly string[], as_json: boolean): void {
  if (as_json) {
    console.log(JSON.stringify(rows, undefined, 2))
    return
  }
  const lines = [columns.map((column) => column.toUpperCase().replaceAll('_', ' '))]
  for (const row of rows) lines.push(columns.map((column) => cellOf(row[column])))
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => (line[index] ?? '').length)))
  for (const line of lines) {
    const text = line.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ')
    console.log(visibleAt(process.stdout, text.trimEnd()))
  }
}

function cellOf(value: Row[string] | undefined): string {
  return value === undefined || value === null ? '-' : String(value)
}
