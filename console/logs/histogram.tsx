// When how much was logged, as a strip of bars by severity. A drag over bars, or a click on one, makes their time the range.
import { useState } from 'react'
import type { LogHistogram, LogSeverity } from '#contract/log.ts'
import { count } from '../part/amount.ts'
import { exact } from '../part/time.tsx'
import css from './logs.module.css'

/** From the axis upwards: what is bad stands on what is usual. */
const stacked: readonly (readonly LogSeverity[])[] = [
  ['DEBUG', 'INFO', 'NOTICE', 'LOG'],
  ['WARNING'],
  ['ERROR', 'FATAL', 'PANIC'],
]
const height = 100
/** A bar that is there is seen, however high the others are. */
const height_min = 4

type Props = {
  histogram: LogHistogram
  /** Empty: all. */
  severities: readonly string[]
  onRange: (from: string, to: string) => void
}

export function Histogram({ histogram: { buckets, partial }, severities, onRange }: Props) {
  const [drag, setDrag] = useState<{ from: number; to: number }>()
  const isKept = (severity: string) => severities.length === 0 || severities.includes(severity)
  const bars = buckets.map(({ counts }) =>
    stacked.map((group) => group.filter(isKept).reduce((sum, severity) => sum + (counts[severity] ?? 0), 0)),
  )
  const sums = bars.map((bar) => bar.reduce((sum, count) => sum + count, 0))
  const most = Math.max(1, ...sums)
  const bucketAt = ({ currentTarget, clientX }: React.PointerEvent<SVGSVGElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect()
    return Math.min(buckets.length - 1, Math.max(0, Math.floor(((clientX - left) / width) * buckets.length)))
  }
  const finish = () => {
    if (drag === undefined) return
    const [from, to] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)]
    setDrag(undefined)
    onRange(timeAt(buckets, from), timeAt(buckets, to + 1))
  }
  const total = sums.reduce((sum, one) => sum + one, 0)
  const highest = buckets[sums.indexOf(most)]?.time
  const most_after = highest && total > 1 ? `, most of them after ${secondOf(highest)}` : ''
  const words = `${count(total, 'entry', 'entries')}${partial ? ' at least' : ''}${most_after}`
  return (
    <figure className={css['histogram']}>
      <svg
        role="img"
        aria-label={`Entries over time: ${words}`}
        viewBox={`0 0 ${buckets.length} ${height}`}
        preserveAspectRatio="none"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
          setDrag({ from: bucketAt(event), to: bucketAt(event) })
        }}
        onPointerMove={(event) => {
          if (drag !== undefined) setDrag({ ...drag, to: bucketAt(event) })
        }}
        onPointerUp={finish}
        onPointerCancel={() => setDrag(undefined)}
      >
        {drag !== undefined && (
          <rect
            className={css['chosen']}
            x={Math.min(drag.from, drag.to)}
            width={Math.abs(drag.to - drag.from) + 1}
            y={0}
            height={height}
          />
        )}
        {bars.map((bar, at) => (
          <Bar key={buckets[at]?.time} at={at} bar={bar} scale={height / most} title={titleOf(buckets[at], isKept)} />
        ))}
      </svg>
      <figcaption>
        <span>{secondOf(timeAt(buckets, 0))}</span>
        <span className={css['words']}>{words}; drag for a range</span>
        <span>{secondOf(timeAt(buckets, buckets.length))}</span>
      </figcaption>
    </figure>
  )
}

type BarProps = { at: number; bar: readonly number[]; scale: number; title: string }

function Bar({ at, bar, scale, title }: BarProps) {
  const heights = bar.map((count) => (count === 0 ? 0 : Math.max(height_min, count * scale)))
  return (
    <g>
      <title>{title}</title>
      <rect className={css['hit']} x={at} width={1} y={0} height={height} />
      {heights.map((own, level) => {
        const below = heights.slice(0, level).reduce((sum, one) => sum + one, 0)
        return own === 0 ? null : (
          <rect
            key={level}
            className={css[`level-${level}`]}
            x={at + 0.1}
            width={0.8}
            y={height - below - own}
            height={own}
          />
        )
      })}
    </g>
  )
}

function titleOf(bucket: LogHistogram['buckets'][number] | undefined, isKept: (severity: string) => boolean): string {
  if (bucket === undefined) return ''
  const counts = Object.entries(bucket.counts).filter(([severity]) => isKept(severity))
  return [secondOf(bucket.time), ...counts.map(([severity, count]) => `${count} ${severity}`)].join('\n')
}

/** Where a bucket begins, and the last one ends. */
function timeAt(buckets: LogHistogram['buckets'], at: number): string {
  const [first, second] = buckets.map(({ time }) => Date.parse(time))
  return new Date((first ?? 0) + at * ((second ?? 0) - (first ?? 0))).toISOString()
}

/** Without milliseconds. */
const secondOf = (time: string) => exact(Date.parse(time), { ms: false })
