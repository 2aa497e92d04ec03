// The window of moments as a band: snapshots and events are marked on it, a moment is chosen by drag, by keys (1 s, with Shift 1 min)
// or typed to the millisecond.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Service } from '#contract/service.ts'
import { Button } from '../part/button.tsx'
import { TextField } from '../part/field.tsx'
import { layout } from '../part/layout.tsx'
import { exact, isUtc } from '../part/time.tsx'
import { q } from '../query.ts'
import css from './forks.module.css'

type BandProps = {
  service: Service
  from: number
  until: number
  reason: string | undefined
  /** Why it cannot be rewound. */
  rewind_reason: string | undefined
  onFork: (target_time: string) => void
  onLook: (target_time: string) => void
  onRewind: (target_time: string) => void
}

const minute_ms = 60_000

export function TimeBand({ service, from, until, reason, rewind_reason, onFork, onLook, onRewind }: BandProps) {
  const [chosen, setChosen] = useState<number>()
  const [typed, setTyped] = useState<string>()
  const at = Math.min(until, Math.max(from, chosen ?? until))
  const choose = (moment: number) => {
    setTyped(undefined)
    setChosen(Math.min(until, Math.max(from, moment)))
  }
  const written = typed === undefined ? at : parseTyped(typed)
  const problem = Number.isNaN(written) || written < from || written > until ? 'not a moment of this window' : undefined
  return (
    <div className={layout['stack']}>
      <div className={css['band']}>
        <Slider {...{ service, from, until, at }} onChoose={choose} />
        <div className={css['ends']}>
          <span>{exact(from, { ms: false })}</span>
          <span>{exact(until, { ms: false })}</span>
        </div>
        <Legend />
      </div>
      <div className={`${layout['row']} ${layout['rowend']}`}>
        <div className={css['time']}>
          <TextField
            label={`Moment, ${isUtc() ? 'UTC' : 'local time'}`}
            mono
            value={typed ?? exact(at)}
            // From here on the text is the reader's: the window moves on, and would replace it, with the selection, in the middle of an edit.
            onFocus={() => {
              setTyped((text) => text ?? exact(at))
              setChosen(at)
            }}
            onChange={(text) => {
              setTyped(text)
              const moment = parseTyped(text)
              if (!Number.isNaN(moment)) setChosen(moment)
            }}
            problem={problem}
          />
        </div>
        <Button onPress={() => choose(at - minute_ms)}>−1 min</Button>
        <Button onPress={() => choose(at + minute_ms)}>+1 min</Button>
        <Button reason={reason ?? problem} onPress={() => onLook(new Date(at).toISOString())}>
          Look first
        </Button>
        <Button
          kind="primary"
          icon="fork"
          reason={reason ?? problem}
          onPress={() => onFork(new Date(at).toISOString())}
        >
          Fork here
        </Button>
        <Button reason={rewind_reason ?? problem} onPress={() => onRewind(new Date(at).toISOString())}>
          Rewind here…
        </Button>
      </div>
    </div>
  )
}

const Legend = () => (
  <p className={css['legend']}>
    <span>snapshot</span>
    <span className={css['dot']}>event</span>
    <span className={css['strip']}>warnings and errors</span>
  </p>
)

type PlaceProps = { service: Service; from: number; until: number; at: number }

function Slider({ onChoose, ...place }: PlaceProps & { onChoose: (moment: number) => void }) {
  const { from, until, at } = place
  return (
    <div className={css['track']}>
      <Marks {...place} />
      <input
        type="range"
        aria-label="Moment"
        aria-valuetext={exact(at)}
        min={from}
        max={until}
        step={1000}
        value={at}
        onChange={(event) => onChoose(Number(event.target.value))}
        onKeyDown={(event) => {
          const sign = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key]
          if (sign === undefined) return
          event.preventDefault()
          onChoose(at + sign * (event.shiftKey ? minute_ms : 1000))
        }}
      />
    </div>
  )
}

function Marks({ service, from, until, at }: PlaceProps) {
  const place = { project_id: service.project_id, service_id: service.service_id }
  const { data: snapshots = [] } = useQuery(q('listSnapshots', place))
  const { data: events = [] } = useQuery(q('listServiceEvents', place))
  const warnings = useWarnings(place, from, until)
  const most = Math.max(1, ...warnings.map(({ count }) => count))
  /** Percent of the band. */
  const x = (moment: number) => ((moment - from) / (until - from)) * 100
  const inside = (time: string | undefined) =>
    time !== undefined && Date.parse(time) >= from && Date.parse(time) <= until
  return (
    <div className={css['marks']} aria-hidden="true">
      <i className={css['past']} style={{ width: `${x(at)}%` }} />
      {warnings.map(({ time, count, ms }) => (
        <i
          key={time}
          className={css['warnings']}
          style={{ left: `${x(time)}%`, width: `${x(from + ms)}%`, height: `${30 * (count / most)}%` }}
        />
      ))}
      {snapshots
        .filter(({ taken }) => inside(taken))
        .map(({ id, taken = '' }) => (
          <i key={id} className={css['snapshot']} style={{ left: `${x(Date.parse(taken))}%` }} />
        ))}
      {events
        .filter(({ time, kind }) => kind !== 'snapshot' && inside(time))
        .map(({ time }, index) => (
          <i key={`${time} ${index}`} className={css['event']} style={{ left: `${x(Date.parse(time))}%` }} />
        ))}
      <i className={css['hand']} style={{ left: `${x(at)}%` }} />
    </div>
  )
}

const buckets = 120
const bad_severities = ['WARNING', 'ERROR', 'FATAL', 'PANIC']

/** How many of them when. The window moves with the present, and this need not move with it. */
function useWarnings(place: { project_id: string; service_id: string }, from: number, until: number) {
  const [since] = useState(() => new Date(from).toISOString())
  const [to] = useState(() => new Date(until).toISOString())
  const query = { since, until: to, buckets, severities: bad_severities }
  const { data } = useQuery({ ...q('getLogHistogram', { ...place, query }), staleTime: Infinity })
  const ms = (until - from) / buckets
  return (data?.buckets ?? [])
    .map(({ time, counts }) => ({
      ms,
      time: Date.parse(time),
      count: Object.values(counts).reduce((sum, one) => sum + one, 0),
    }))
    .filter(({ count }) => count > 0)
}

/** As `exact` writes it, on the reader's clock. */
function parseTyped(text: string): number {
  return Date.parse(`${text.trim().replace(' ', 'T')}${isUtc() ? 'Z' : ''}`)
}
