// The rows of a long table that are in sight, with what the others would take up above and below them. The page scrolls, not the table.
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import css from './table.module.css'

const row_pixels = 38
const rows_ahead = 15

type Props = { count: number; cellsOf: (index: number) => ReactNode }

export function RowsInSight({ count, cellsOf }: Props) {
  const first = useRef<HTMLTableRowElement>(null)
  const [top, setTop] = useState(0)
  useLayoutEffect(() => {
    setTop(first.current === null ? 0 : first.current.getBoundingClientRect().top + scrollY)
  }, [])
  const rows = useWindowVirtualizer({
    count,
    estimateSize: () => row_pixels,
    overscan: rows_ahead,
    scrollMargin: top,
  })
  const items = rows.getVirtualItems()
  const above = (items[0]?.start ?? top) - top
  const below = rows.getTotalSize() - ((items.at(-1)?.end ?? top) - top)
  return (
    <>
      <tr ref={first} className={css['space']} style={{ height: above }} aria-hidden="true" />
      {items.map(({ index, key }) => (
        <tr key={key} ref={rows.measureElement} data-index={index} aria-rowindex={index + 2}>
          {cellsOf(index)}
        </tr>
      ))}
      <tr className={css['space']} style={{ height: below }} aria-hidden="true" />
    </>
  )
}
