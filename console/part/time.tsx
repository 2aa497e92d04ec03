// A moment as people read it, relative, with the exact time of both clocks in its title. The clock of exact times, local or UTC, is the
// reader's choice.
import { useSyncExternalStore } from 'react'
import { kept } from '../keep.ts'
import { greatestPartOf } from './length.ts'

const tick_ms = 5_000
const ticks = new Set<() => void>()
let now = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

/** The present, moved on every few seconds while anything shows it. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now)
}

function subscribe(listener: () => void): () => void {
  // The clock stood still while nothing showed it.
  if (ticks.size === 0) now = Date.now()
  ticks.add(listener)
  timer ??= setInterval(() => {
    now = Date.now()
    for (const tick of ticks) tick()
  }, tick_ms)
  return () => {
    ticks.delete(listener)
    if (ticks.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

export function Time({ value }: { value: string }) {
  const at = Date.parse(value)
  const now = useNow()
  return (
    <time dateTime={value} title={exactTitle(at)}>
      {relativeTo(Math.max(now, Date.now()), at)}
    </time>
  )
}

/** How long ago that was, such as `up 3 h`. */
export function Up({ since }: { since: string }) {
  const at = Date.parse(since)
  const now = useNow()
  return (
    <time dateTime={since} title={`since ${exactTitle(at)}`}>
      up {greatestPartOf(Math.max(now, Date.now()) - at)}
    </time>
  )
}

const present_ms = 10_000
const far_ms = 90 * 86_400_000

/** With the units of `lengthOf`; a day that is far away is named. */
function relativeTo(now: number, at: number): string {
  const ms = at - now
  if (Math.abs(ms) > far_ms) return exact(at).slice(0, 10)
  if (Math.abs(ms) < present_ms) return 'now'
  const length = greatestPartOf(Math.abs(ms))
  return ms < 0 ? `${length} ago` : `in ${length}`
}

export const isUtc = () => kept('clock') === 'utc'

/** To the millisecond, on the reader's clock. */
export function exact(at: number, { date = true, ms = true } = {}): string {
  const moved = isUtc() ? new Date(at) : new Date(at - new Date(at).getTimezoneOffset() * 60_000)
  const [day, time = ''] = moved.toISOString().slice(0, -1).split('T')
  const shown = ms ? time : time.slice(0, 8)
  return date ? `${day} ${shown}` : shown
}

/** Without Intl, whose first use takes a tenth of the time until a page is there. */
function exactTitle(at: number): string {
  const inZone = (offset_minutes: number) =>
    new Date(at - offset_minutes * 60_000).toISOString().slice(0, 19).replace('T', ' ')
  return `${inZone(0)} UTC\n${inZone(new Date(at).getTimezoneOffset())} local time`
}
