// A table of things. Below 600 px each row is a card, in which every value stands beside its label.
import type { ReactNode } from 'react'
import { layout } from './layout.tsx'
import css from './table.module.css'

export type Column<Row> = {
  label: string
  /** The first column names the row. */
  cell: (row: Row) => ReactNode
  /** At the right end, as narrow as its content: acts. */
  end?: boolean
  /** Never on two lines. */
  nowrap?: boolean
}

type TableProps<Row> = {
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** A column of check boxes before the others. */
  selection?: Selection<Row>
}

type Selection<Row> = {
  keys: ReadonlySet<string>
  nameOf: (row: Row) => string
  onChange: (keys: ReadonlySet<string>) => void
}

export function Table<Row>({ label, columns, rows, keyOf, selection }: TableProps<Row>) {
  const all = new Set(rows.map(keyOf))
  const are_all = rows.length > 0 && rows.every((row) => selection?.keys.has(keyOf(row)))
  return (
    <div className={css['wrap']}>
      <table className={css['table']} aria-label={label}>
        <thead>
          <tr>
            {selection && (
              <td className={css['check']}>
                <input
                  type="checkbox"
                  aria-label="Choose all"
                  checked={are_all}
                  onChange={() => selection.onChange(are_all ? new Set() : all)}
                />
              </td>
            )}
            {columns.map((column) => (
              <th key={column.label} scope="col" className={column.end ? css['end'] : undefined}>
                {column.end ? <span className={layout['hidden']}>{column.label}</span> : column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {selection && (
                <td className={css['check']}>
                  <input
                    type="checkbox"
                    aria-label={`Choose ${selection.nameOf(row)}`}
                    checked={selection.keys.has(keyOf(row))}
                    onChange={() => selection.onChange(toggled(selection.keys, keyOf(row)))}
                  />
                </td>
              )}
              {columns.map((column, index) => (
                <Cell key={column.label} column={column} row={row} names_row={index === 0} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function toggled(keys: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(keys)
  if (!next.delete(key)) next.add(key)
  return next
}

function Cell<Row>({ column, row, names_row }: { column: Column<Row>; row: Row; names_row: boolean }) {
  const content = column.cell(row)
  if (names_row)
    return (
      <th scope="row" className={column.nowrap ? css['nowrap'] : undefined}>
        {content}
      </th>
    )
  return (
    <td
      className={column.end ? css['end'] : column.nowrap ? css['nowrap'] : undefined}
      data-label={column.end ? '' : column.label}
    >
      {content}
    </td>
  )
}
