// The window of moments as a band: what happened is marked on it, a part of it can be looked at closely, and a moment is chosen by drag, by
// keys (1 s, with Shift 1 min) or typed to the millisecond.
import { useState } from 'react'
import type { Service } from '#contract/service.ts'
import { Button } from '../part/button.tsx'
import { TextField } from '../part/field.tsx'
import { layout } from '../part/layout.tsx'
import { lengthOf } from '../part/length.ts'
import { exact, isUtc } from '../part/time.tsx'
import css from './forks.module.css'
import { Marks } from './time-marks.tsx'
import { canZoomIn, lengthIn, reaching, type Span, zoomedIn, zoomedOut } from './zoom.ts'

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
const hour_ms = 3_600_000

export function TimeBand({ service, from, until, reason, rewind_reason, onFork, onLook, onRewind }: BandProps) {
  const [chosen, setChosen] = useState<number>()
  const [typed, setTyped] = useState<string>()
  const [part, setPart] = useState<Span>()
  const whole = { from, until }
  const at = Math.min(until, Math.max(from, chosen ?? until))
  const shown = part ?? whole
  const goTo = (moment: number) => {
    const next = Math.min(until, Math.max(from, moment))
    setChosen(next)
    setPart(part && reaching(whole, part, next))
  }
  const choose = (moment: number) => {
    setTyped(undefined)
    goTo(moment)
  }
  const written = typed === undefined ? at : parseTyped(typed)
  const problem = Number.isNaN(written) || written < from || written > until ? 'not a moment of this window' : undefined
  const zoom = (next: Span | undefined) => {
    // What is looked at closely stays, while the window moves on.
    setChosen(at)
    setPart(next)
  }
  return (
    <div className={layout['stack']}>
      <div className={css['band']}>
        <Slider {...{ service, shown, at }} is_part={part !== undefined} onChoose={choose} />
        <div className={css['ends']}>
          <span>{exact(shown.from, { ms: false })}</span>
          <span>{exact(shown.until, { ms: false })}</span>
        </div>
        <div className={css['below']}>
          <Legend />
          <Zoom {...{ whole, shown, at }} onZoom={zoom} />
        </div>
      </div>
      <div className={`${layout['row']} ${layout['rowend']}`}>
        <Moment {...{ at, typed, problem, setTyped, goTo }} />
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

type MomentProps = {
  at: number
  typed: string | undefined
  problem: string | undefined
  setTyped: (text: string) => void
  goTo: (moment: number) => void
}

function Moment({ at, typed, problem, setTyped, goTo }: MomentProps) {
  return (
    <div className={css['time']}>
      <TextField
        label={`Moment, ${isUtc() ? 'UTC' : 'local time'}`}
        mono
        value={typed ?? exact(at)}
        // From here on the text is the reader's: the window moves on, and would replace it, with the selection, in the middle of an edit.
        onFocus={() => {
          setTyped(typed ?? exact(at))
          goTo(at)
        }}
        onChange={(text) => {
          setTyped(text)
          const moment = parseTyped(text)
          if (!Number.isNaN(moment)) goTo(moment)
        }}
        problem={problem}
      />
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

type ZoomProps = { whole: Span; shown: Span; at: number; onZoom: (shown: Span | undefined) => void }

function Zoom({ whole, shown, at, onZoom }: ZoomProps) {
  const is_whole = lengthIn(shown) === lengthIn(whole)
  const all = is_whole ? 'the whole window is shown' : undefined
  return (
    <div className={layout['row']} role="group" aria-label="Zoom">
      <Button
        small
        reason={canZoomIn(shown) ? undefined : 'nothing shorter can be shown'}
        onPress={() => onZoom(zoomedIn(whole, shown, at))}
      >
        Zoom in
      </Button>
      <Button small reason={all} onPress={() => onZoom(zoomedOut(whole, shown, at))}>
        Zoom out
      </Button>
      {!is_whole && (
        <span className={`${layout['muted']} ${layout['small']}`}>
          {lengthOf(lengthIn(shown))} of {lengthOf(lengthIn(whole))}
        </span>
      )}
    </div>
  )
}

type SliderProps = {
  service: Service
  shown: Span
  is_part: boolean
  at: number
  onChoose: (moment: number) => void
}

function Slider({ onChoose, ...place }: SliderProps) {
  const { shown, at } = place
  return (
    <div className={css['track']}>
      <Marks {...place} />
      <input
        type="range"
        aria-label="Moment"
        aria-valuetext={exact(at)}
        min={shown.from}
        max={shown.until}
        step={lengthIn(shown) > hour_ms ? 1000 : 1}
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

/** As `exact` writes it, on the reader's clock. */
function parseTyped(text: string): number {
  return Date.parse(`${text.trim().replace(' ', 'T')}${isUtc() ? 'Z' : ''}`)
}
