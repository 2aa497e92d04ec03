// Entries of a log as rows, of which only those in sight exist. A row opens to the whole text.
import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef, useState } from 'react'
import type { LogEntry } from '#contract/log.ts'
import { CopyButton } from '../part/copy.tsx'
import { exact } from '../part/time.tsx'
import css from './logs.module.css'

const row_pixels = 28
const rows_ahead = 20

export function LogList({ entries, onEnd }: { entries: readonly LogEntry[]; onEnd: () => void }) {
  const list = useRef<HTMLDivElement>(null)
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const rows = useVirtualizer({
    count: entries.length,
    getScrollElement: () => list.current,
    estimateSize: () => row_pixels,
    overscan: rows_ahead,
    getItemKey: (index) => keyOf(entries, index),
  })
  const toggle = (key: string) => {
    const next = new Set(opened)
    if (!next.delete(key)) next.add(key)
    setOpened(next)
  }
  return (
    <div
      ref={list}
      className={css['list']}
      role="region"
      aria-label="Log entries, newest first"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
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
              <Entry entry={entry} open={opened.has(String(key))} onToggle={() => toggle(String(key))} />
            </div>
          )
        })}
      </div>
    </div>
  )
}

type EntryProps = { entry: LogEntry; open: boolean; onToggle: () => void }

function Entry({ entry: { timestamp, severity, message }, open, onToggle }: EntryProps) {
  return (
    <>
      <button type="button" className={css['line']} aria-expanded={open} onClick={onToggle}>
        <time dateTime={timestamp}>{exact(Date.parse(timestamp))}</time>
        <span className={`${css['severity']} ${css[severity]}`}>{severity}</span>
        <span className={css['message']}>{message.split('\n', 1)[0]}</span>
      </button>
      {open && (
        <div className={css['whole']}>
          <pre>{message}</pre>
          <span>
            <CopyButton text={`${timestamp} ${severity} ${message}`} label="Copy the entry" />
          </span>
        </div>
      )}
    </>
  )
}

/** The same entry has the same key when newer ones come above it. */
function keyOf(entries: readonly LogEntry[], index: number): string {
  const entry = entries[index]
  if (entry === undefined) return String(index)
  let same = 0
  while (entries[index + same + 1]?.timestamp === entry.timestamp) same += 1
  return `${entry.timestamp} ${same}`
}
