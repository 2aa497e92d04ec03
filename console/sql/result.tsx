// What a statement gave: rows as text, what PostgreSQL noted, and copies for other programs.
import type { QueryResult } from '#contract/query.ts'
import { count } from '../part/amount.ts'
import { CopyButton } from '../part/copy.tsx'
import { layout } from '../part/layout.tsx'
import { Note } from '../part/problem.tsx'
import css from './sql.module.css'

export function Result({ result }: { result: QueryResult }) {
  const { columns, rows, row_count, truncated, took_ms, notices, command } = result
  return (
    <>
      <div className={layout['row']}>
        <span role="status">
          {command}: {truncated ? partOf(rows.length) : count(row_count, 'row')} ({took_ms} ms)
        </span>
        {rows.length > 0 && (
          <>
            <CopyButton text={csvOf(result)} label="Copy as CSV" />
            <CopyButton text={jsonOf(result)} label="Copy as JSON" />
          </>
        )}
      </div>
      {notices.map((notice, index) => (
        <Note key={index}>{notice}</Note>
      ))}
      {columns.length > 0 && (
        <div className={css['rows']} tabIndex={0} role="region" aria-label="Rows">
          <table>
            <thead>
              <tr>
                {columns.map(({ name, type }, index) => (
                  <th key={index} scope="col">
                    {name} <span className={layout['muted']}>{type}</span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, at) => (
                <tr key={at}>
                  {row.map((value, index) => (
                    <td key={index}>{value ?? <i className={layout['muted']}>null</i>}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

function partOf(shown: number): string {
  if (shown === 0) return 'the first row is larger than 1 MB and not shown'
  return `the first ${shown === 1 ? 'row' : `${shown} rows`}; there are more`
}

function csvOf({ columns, rows }: QueryResult): string {
  const quoted = (value: string | null) =>
    value === null ? '' : /[",\n\r]/.test(value) || value === '' ? `"${value.replaceAll('"', '""')}"` : value
  return [columns.map(({ name }) => name), ...rows].map((row) => row.map(quoted).join(',')).join('\n')
}

function jsonOf({ columns, rows }: QueryResult): string {
  const named = rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index] ?? null])))
  return JSON.stringify(named, null, 2)
}
