// A table of things. Below 600 px each row is a card, in which every value stands beside its label.
import { memo, type ReactNode } from 'react'
import { layout } from './layout.tsx'
import { onDemand } from './on-demand.tsx'
import css from './table.module.css'

/** Of a cell that has no value; a card leaves it out. */
export const nothing = '–'

export type Column<Row> = {
  label: string
  /** The first column names the row. */
  cell: (row: Row) => ReactNode
  /** At the right end, as narrow as its content: acts. */
  end?: boolean
  /** Never on two lines; but what names the row, as soon as it would take the place of other columns. */
  nowrap?: boolean
  /** Sentences: in a card they stand below their label. */
  long?: boolean
  /** By what rows can be sorted. */
  order?: (row: Row) => string | number
}

/** `by`: the label of a column, with a minus before it for the other direction; '': as they come. */
export type Sort = { by: string; onChange: (by: string) => void }

type TableProps<Row> = {
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  sort?: Sort
  /** A column of check boxes before the others. */
  selection?: Selection<Row>
}

type Selection<Row> = {
  keys: ReadonlySet<string>
  nameOf: (row: Row) => string
  onChange: (keys: ReadonlySet<string>) => void
}

/** Of a longer table only the rows in sight exist: a key in its search is to cost little. */
const whole_rows_max = 60

const RowsInSight = onDemand(async () => (await import('./virtual-rows.tsx')).RowsInSight)

export function Table<Row>({ label, columns, rows, keyOf, sort, selection }: TableProps<Row>) {
  const all = new Set(rows.map(keyOf))
  const are_all = rows.length > 0 && rows.every((row) => selection?.keys.has(keyOf(row)))
  const shown = sorted(rows, columns, sort)
  const cellsOf = (row: Row) => (
    <>
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
      <Cells columns={columns} row={row} />
    </>
  )
  return (
    <div className={css['wrap']}>
      <table className={css['table']} aria-label={label} aria-rowcount={rows.length + 1}>
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
              <Heading key={column.label} column={column} sort={column.order && sort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.length > whole_rows_max ? (
            <RowsInSight count={rows.length} cellsOf={(index) => shown[index] && cellsOf(shown[index])} />
          ) : (
            shown.map((row) => <tr key={keyOf(row)}>{cellsOf(row)}</tr>)
          )}
        </tbody>
      </table>
    </div>
  )
}

type HeadingProps<Row> = { column: Column<Row>; sort: Sort | undefined }

function Heading<Row>({ column: { label, end }, sort }: HeadingProps<Row>) {
  const direction = sort?.by === label ? 'ascending' : sort?.by === `-${label}` ? 'descending' : undefined
  const next = { ascending: `-${label}`, descending: '' }
  return (
    <th scope="col" className={end ? css['end'] : undefined} aria-sort={direction}>
      {sort === undefined ? (
        <span className={end ? layout['hidden'] : undefined}>{label}</span>
      ) : (
        <button
          type="button"
          className={css['sort']}
          onClick={() => sort.onChange(direction === undefined ? label : next[direction])}
        >
          {label}
          <span aria-hidden="true">{{ ascending: '↑', descending: '↓', none: '' }[direction ?? 'none']}</span>
        </button>
      )}
    </th>
  )
}

function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sort: Sort | undefined): readonly Row[] {
  const sign = sort?.by.startsWith('-') ? -1 : 1
  const order = columns.find(({ label }) => label === sort?.by.replace(/^-/, ''))?.order
  if (order === undefined) return rows
  const compare = (one: string | number, other: string | number) =>
    typeof one === 'number' && typeof other === 'number' ? one - other : String(one).localeCompare(String(other))
  return rows.toSorted((one, other) => sign * compare(order(one), order(other)))
}

function toggled(keys: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(keys)
  if (!next.delete(key)) next.add(key)
  return next
}

type CellsProps<Row> = { columns: readonly Column<Row>[]; row: Row }

/** Drawn again only when its row is another one: of many rows a key in their search changes few. */
const Cells = memo(function AllCells<Row>({ columns, row }: CellsProps<Row>) {
  return columns.map((column, index) => <Cell key={column.label} column={column} row={row} names_row={index === 0} />)
}) as <Row>(props: CellsProps<Row>) => ReactNode // memo forgets the type parameter

function Cell<Row>({ column, row, names_row }: { column: Column<Row>; row: Row; names_row: boolean }) {
  const content = column.cell(row)
  if (names_row) return <th scope="row">{column.nowrap ? <div className={css['title']}>{content}</div> : content}</th>
  const kind = column.end ? css['end'] : column.nowrap ? css['nowrap'] : column.long ? css['long'] : ''
  return (
    <td className={`${kind} ${content === nothing ? css['none'] : ''}`} data-label={column.end ? '' : column.label}>
      {content}
    </td>
  )
}
