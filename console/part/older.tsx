// The end of a list of events, of which the API gives the newest: the way to more of them, and a word where there are no more to be had.
import { useState } from 'react'
import { events_max } from '#contract/event.ts'
import { Button } from './button.tsx'
import { layout } from './layout.tsx'

const first_events = 100

/** How many to ask for: few at first, and all that can be had when more are wanted. */
export function useEventLimit() {
  const [limit, setLimit] = useState(first_events)
  return { limit, more: () => setLimit(events_max) }
}

type OlderProps = { shown: number; limit: number; pending: boolean; more: () => void }

export function OlderEvents({ shown, limit, pending, more }: OlderProps) {
  if (pending || (shown >= limit && limit < events_max)) {
    return (
      <div>
        <Button pending={pending} onPress={more}>
          Older events
        </Button>
      </div>
    )
  }
  return shown < events_max ? null : <p className={layout['muted']}>These are the newest {events_max}.</p>
}
