// Lines over time, drawn by uPlot with the colours of the theme. All charts of a page share their cursor; a drag chooses a range, a
// double click goes back. Gaps stay gaps.
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { exact } from './time.tsx'

export type Line = { label: string; values: readonly (number | null)[] }

type ChartProps = {
  label: string
  /** Seconds since 1970. */
  times: readonly number[]
  lines: readonly Line[]
  /** To show as lines, such as the size. */
  limits: readonly number[]
  /** Moments to mark, in seconds since 1970. */
  marks: readonly number[]
  format: (value: number) => string
  /** Round numbers of bytes are powers of two. */
  binary?: boolean
  height: number
  className?: string | undefined
  /** Milliseconds. */
  onRange: (from: number, to: number) => void
  onBack: () => void
}

const shared = uPlot.sync('metrics')

export function Chart(props: ChartProps) {
  const { label, times, lines, limits, marks, binary = false, format, height, className, onRange, onBack } = props
  const place = useRef<HTMLDivElement>(null)
  const acts = useRef({ onRange, format })
  acts.current = { onRange, format }
  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const plot = new uPlot(
      optionsOf(element, { lines, limits, marks, binary, height }, acts),
      dataOf(times, lines, limits),
      element,
    )
    const resizing = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
    resizing.observe(element)
    return () => {
      resizing.disconnect()
      plot.destroy()
    }
  }, [times, lines, limits, marks, binary, height])
  return <div ref={place} className={className} role="img" aria-label={label} onDoubleClick={onBack} />
}

const powers_of_two = Array.from({ length: 45 }, (_, power) => 2 ** power)

type Acts = { current: Pick<ChartProps, 'onRange' | 'format'> }

type Drawn = Required<Pick<ChartProps, 'lines' | 'limits' | 'marks' | 'binary' | 'height'>>

/** A canvas takes no variable: as an element shows it, in the theme that is on. */
function newColours(element: HTMLElement): (name: string) => string {
  return (name) => {
    element.style.color = `var(${name})`
    const { color } = getComputedStyle(element)
    element.style.color = ''
    return color
  }
}

function optionsOf(element: HTMLElement, drawn: Drawn, acts: Acts): uPlot.Options {
  const { lines, limits, marks, binary, height } = drawn
  const colour = newColours(element)
  const [ink, grid] = [colour('--muted'), colour('--line')]
  const strokes = [colour('--series-1'), colour('--series-2')]
  const axis = {
    stroke: ink,
    grid: { stroke: grid, width: 1 },
    ticks: { stroke: grid, width: 1, size: 4 },
    font: '11px system-ui',
  }
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: {
      sync: { key: shared.key, setSeries: false },
      drag: { x: true, y: false, setScale: false },
      points: { size: 6 },
    },
    scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.12 : 1] } },
    axes: [
      { ...axis, size: 28, values: timeLabels },
      {
        ...axis,
        size: 66,
        ...(binary && { incrs: powers_of_two }),
        values: (_plot, values) => values.map((value) => acts.current.format(value)),
      },
    ],
    series: [
      {},
      ...lines.map((line, index) => ({
        stroke: strokes[index % 2] ?? ink,
        width: 1.6,
        spanGaps: false,
        points: { show: isSparse(line) },
      })),
      ...limits.map(() => ({ stroke: colour('--bad'), width: 1, dash: [5, 4], points: { show: false } })),
    ],
    hooks: {
      drawAxes: [(plot) => drawMarks(plot, marks, colour('--busy'))],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select
          if (width < 4) return
          acts.current.onRange(plot.posToVal(left, 'x') * 1000, plot.posToVal(left + width, 'x') * 1000)
          plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false)
        },
      ],
    },
  }
}

const marks_apart_pixels = 5

/** Below the lines, as high as the chart. */
function drawMarks(plot: uPlot, marks: readonly number[], colour: string): void {
  const { ctx, bbox, scales } = plot
  const { min = 0, max = 0 } = scales['x'] ?? {}
  ctx.save()
  ctx.strokeStyle = colour
  ctx.lineWidth = devicePixelRatio
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio])
  const places = marks
    .filter((time) => time >= min && time <= max)
    .map((time) => Math.round(plot.valToPos(time, 'x', true)))
    .toSorted((one, other) => one - other)
  // Of marks that stand close together one is drawn.
  let last = -Infinity
  for (const x of places) {
    if (x - last < marks_apart_pixels * devicePixelRatio) continue
    last = x
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}

/** A value without neighbours is a point, because no line leads to it. */
function isSparse({ values }: Line): boolean {
  return values.filter((value) => value !== null).length < 3
}

const day_seconds = 86_400

/** 24 hours, on the reader's clock; days where the range is long. */
function timeLabels(_plot: uPlot, times: number[], _axis: number, _space: number, step: number): string[] {
  return times.map((time) => {
    const text = exact(time * 1000, { ms: false })
    return step >= day_seconds ? text.slice(5, 10) : text.slice(11, step < 60 ? 19 : 16)
  })
}

function dataOf(times: readonly number[], lines: readonly Line[], limits: readonly number[]): uPlot.AlignedData {
  // uPlot reads its data only.
  return [
    times,
    ...lines.map(({ values }) => values),
    ...limits.map((limit) => times.map(() => limit)),
  ] as uPlot.AlignedData
}
