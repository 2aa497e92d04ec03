// Entries of a log as rows, of which only those in sight exist. A row opens to the whole text and to who caused it.
import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, useCallback, useEffect, useRef, useState } from 'react'
import type { LogEntry } from '#contract/log.ts'
import { Button } from '../part/button.tsx'
import { CopyButton } from '../part/copy.tsx'
import { layout } from '../part/layout.tsx'
import { exact } from '../part/time.tsx'
import css from './logs.module.css'

/** Of a row that is closed, as the style sheet makes it: a row of another height than was believed moves all others. */
const row_pixels = 29
const narrow_row_pixels = 47
const rows_ahead = 20

type ListProps = {
  entries: readonly LogEntry[]
  onEnd: () => void
  /** Whether the newest entry is in sight. */
  onTop: (at_top: boolean) => void
  onAround: (timestamp: string) => void
  /** All of one connection. */
  onProcess: (process_id: number) => void
  /** The address of an entry, among those of its time. */
  linkTo: (entry: LogEntry) => string
  /** The entry that the page was opened at. */
  sought: string | undefined
  /** How often the reader asked for the newest. */
  asked: number
}

export function LogList({ entries, onEnd, onTop, linkTo, sought, asked, ...acts }: ListProps) {
  const list = useRef<HTMLDivElement>(null)
  const [opened, toggle] = useOpened(sought)
  const rows = useVirtualizer({
    count: entries.length,
    getScrollElement: () => list.current,
    estimateSize: () => (matchMedia('(max-width: 599px)').matches ? narrow_row_pixels : row_pixels),
    overscan: rows_ahead,
    // Another function makes it look at all rows again.
    getItemKey: useCallback((index: number) => entries[index]?.id ?? index, [entries]),
  })
  useEffect(() => {
    list.current?.scrollTo({ top: 0 })
  }, [asked])
  useEffect(() => {
    const index = entries.findIndex(({ id }) => id === sought)
    if (sought !== undefined && index >= 0) rows.scrollToIndex(index, { align: 'center' })
    // Once: from then on the reader moves.
  }, [])
  return (
    <div
      ref={list}
      className={css['list']}
      role="region"
      aria-label="Log entries, newest first"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        onTop(scrollTop < row_pixels)
        if (scrollTop + clientHeight > scrollHeight - 10 * row_pixels) onEnd()
      }}
    >
      <div className={css['inner']} style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, start, key }) => {
          const entry = entries[index]
          return entry === undefined ? null : (
            <div
              key={key}
              ref={rows.measureElement}
              data-index={index}
              className={css['row']}
              style={{ transform: `translateY(${start}px)` }}
            >
              <Entry
                {...acts}
                {...{ entry, linkTo }}
                id={String(key)}
                open={opened.has(String(key))}
                onToggle={toggle}
              />
            </div>
          )
        })}
      </div>
    </div>
  )
}

/** The ids of those that are open, and what opens or closes one of them. */
function useOpened(first: string | undefined): [ReadonlySet<string>, (id: string) => void] {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set(first === undefined ? [] : [first]))
  const toggle = useCallback((id: string) => {
    setOpened((before) => {
      const next = new Set(before)
      if (!next.delete(id)) next.add(id)
      return next
    })
  }, [])
  return [opened, toggle]
}

type EntryProps = {
  entry: LogEntry
  id: string
  open: boolean
  onToggle: (id: string) => void
} & Pick<ListProps, 'linkTo' | 'onAround' | 'onProcess'>

/** Those that stay in sight while the list is scrolled are not made anew. */
const Entry = memo(function Entry({ entry, id, open, onToggle, linkTo, onAround, onProcess }: EntryProps) {
  const { timestamp, severity, message, process_id } = entry
  return (
    <>
      <button type="button" className={css['line']} aria-expanded={open} onClick={() => onToggle(id)}>
        <time dateTime={timestamp}>{exact(Date.parse(timestamp))}</time>
        <span className={`${css['severity']} ${css[severity]}`}>{severity}</span>
        <span className={css['message']}>{message.split('\n', 1)[0]}</span>
      </button>
      {open && (
        <div className={css['whole']}>
          <pre>{message}</pre>
          <Writer entry={entry} />
          <div className={layout['row']}>
            <CopyButton text={`${timestamp} ${severity} ${message}`} label="Copy as text" />
            <CopyButton text={JSON.stringify(entry, null, 2)} label="Copy as JSON" />
            <CopyButton text={linkTo(entry)} label="Copy the link" />
            <Button small onPress={() => onAround(timestamp)}>
              All within 2 minutes of it
            </Button>
            {process_id !== undefined && (
              <Button small onPress={() => onProcess(process_id)}>
                Only pid {process_id}
              </Button>
            )}
          </div>
        </div>
      )}
    </>
  )
})

function Writer({ entry: { user, database, application, process_id, state_code, node } }: { entry: LogEntry }) {
  const facts = { user, database, application, pid: process_id, SQLSTATE: state_code, node }
  const known = Object.entries(facts).filter(([, value]) => value !== undefined)
  return (
    <p className={`${layout['muted']} ${layout['small']}`}>
      {known.map(([name, value]) => `${name} ${value}`).join(' · ')}
    </p>
  )
}
