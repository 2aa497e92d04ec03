// Lists for people and for programs: aligned columns, or JSON with --json. The rows are the same.
import { visibleAt } from './visible.ts'
import { padTo, widthOf } from './width.ts'

export type Row = Record<string, string | number | boolean | null>

export function printRows(rows: readonly Row[], columns: readonly string[], as_json: boolean): void {
  if (as_json) {
    console.log(JSON.stringify(rows, undefined, 2))
    return
  }
  const lines = [columns.map((column) => column.toUpperCase().replaceAll('_', ' '))]
  for (const row of rows) lines.push(columns.map((column) => cellOf(row[column])))
  for (const line of alignedLines(lines)) console.log(visibleAt(process.stdout, line))
}

/** Each column as wide as its widest cell. */
export function alignedLines(lines: readonly (readonly string[])[]): string[] {
  const widths = lines[0]?.map((_, at) => Math.max(...lines.map((line) => widthOf(line[at] ?? '')))) ?? []
  return lines.map((line) =>
    line
      .map((cell, at) => padTo(cell, widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

function cellOf(value: Row[string] | undefined): string {
  return value === undefined || value === null ? '-' : String(value)
}
