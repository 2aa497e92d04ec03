// The metrics of a service as charts that share their range: its end is now unless a range was chosen. Each chart can be read as a
// table.
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { exportedName, metric_series, type MetricFunction, type MetricName } from '#contract/metric.ts'
import type { Service } from '#contract/service.ts'
import { measured } from '../part/amount.ts'
import { Button } from '../part/button.tsx'
import { Chart, type Line } from '../part/chart.tsx'
import { CopyButton } from '../part/copy.tsx'
import { Segments } from '../part/field.tsx'
import { Card, layout, Skeleton } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { type Range, ranges, usualRange } from '../part/range.ts'
import { exact } from '../part/time.tsx'
import { q, read } from '../query.ts'
import { useView } from '../search.ts'
import { type Events, EventList } from '../service/event-list.tsx'
import { useService } from '../service/frame.tsx'
import css from './metrics.module.css'

/** The quota is a line in the chart of the disk. */
const shown_elsewhere: ReadonlySet<MetricName> = new Set<MetricName>(['disk_quota_bytes'])
const titles: Partial<Record<MetricName, string>> = {
  cpu_usage_millicores: 'CPU',
  memory_usage_bytes: 'Memory',
  disk_usage_bytes: 'Disk: data and WAL',
  disk_archive_bytes: 'Disk: archive',
  connections: 'Connections',
  transactions_per_second: 'Transactions a second',
  replication_lag_bytes: 'Replication lag',
  cache_hit_ratio: 'Cache hits',
}
const shown_functions = ['AVG', 'MIN', 'MAX', 'LAST'] as const satisfies readonly MetricFunction[]
const refresh_ms = 10_000
const chart_pixels = 170

export type Window = { from: number | undefined; to: number | undefined; range_ms: number }

export function Metrics() {
  const service = useService()
  const { project_id, service_id } = service
  const available = useQuery(q('listMetricSeries', { project_id, service_id }))
  const [view, setView] = useView()
  const range = ranges.find(({ value }) => value === view['range']) ?? usualRange(service.created)
  const fn = shown_functions.find((one) => one === view['fn']) ?? 'AVG'
  const zoomed = view['from'] !== undefined && view['to'] !== undefined
  const window: Window = {
    from: zoomed ? Number(view['from']) : undefined,
    to: zoomed ? Number(view['to']) : undefined,
    range_ms: range.ms,
  }
  const events = useEvents(service, window)
  const zoom = (from: number, to: number) => setView({ from: String(Math.round(from)), to: String(Math.round(to)) })
  const back = () => setView({ from: '', to: '' })
  return (
    <div className={layout['stack']}>
      <div className={`${layout['row']} ${layout['rowend']}`}>
        <Segments
          label="Range"
          name="range"
          value={range.value}
          options={ranges}
          onChange={(value: Range) => setView({ range: value, from: '', to: '' })}
        />
        <Segments
          label="Each point is the"
          name="fn"
          value={fn}
          options={shown_functions.map((value) => ({ value, label: value.toLowerCase() }))}
          onChange={(value) => setView({ fn: value })}
        />
        {zoomed && <Button onPress={back}>Back from the zoom</Button>}
      </div>
      <Problem error={available.error} />
      {available.data === undefined && <Skeleton />}
      <div className={css['charts']}>
        {available.data
          ?.filter((name) => !shown_elsewhere.has(name))
          .map((name) => (
            <MetricCard
              key={name}
              {...{ service, name, window, fn }}
              marks={events.marks}
              onRange={zoom}
              onBack={back}
            />
          ))}
      </div>
      <EventsInRange events={events.list} />
    </div>
  )
}

function EventsInRange({ events }: { events: Events }) {
  if (events.length === 0) return null
  return (
    <Card title="Events in this range">
      <p className={css['legend']}>
        <span className={css['mark']}>each is a dotted line in every chart</span>
      </p>
      <EventList events={events} />
    </Card>
  )
}

/** Those of the range, and their times for the charts. */
function useEvents({ project_id, service_id }: Service, { from, to, range_ms }: Window) {
  const { data } = useQuery(q('listServiceEvents', { project_id, service_id }))
  return useMemo(() => {
    const end = to ?? Date.now()
    const begin = from ?? end - range_ms
    const timeOf = ({ time }: Events[number]) => Date.parse(time)
    const list = (data ?? []).filter((event) => timeOf(event) >= begin && timeOf(event) <= end)
    return { list, marks: list.map((event) => timeOf(event) / 1000) }
  }, [data, from, to, range_ms])
}

type CardProps = {
  service: Service
  /** Of events, in seconds since 1970. */
  marks: readonly number[]
  name: MetricName
  window: Window
  fn: MetricFunction
  onRange: (from: number, to: number) => void
  onBack: () => void
}

function MetricCard({ service, name, window, fn, marks, onRange, onBack }: CardProps) {
  const { unit, description } = metric_series[name]
  const [as_table, setAsTable] = useState(false)
  const { times, lines, error } = useSeries(service, name, window, fn)
  const format = (value: number) => measured(value, unit)
  const limits = limitsOf(service, name)
  const near = useNear(limits, maxOf(lines))
  return (
    <Card
      title={titles[name] ?? name}
      actions={
        <>
          <CopyButton quiet label="PromQL" text={`${exportedName(name)}{service_id="${service.service_id}"}`} />
          <Button small kind="quiet" pressed={as_table} onPress={() => setAsTable(!as_table)}>
            {as_table ? 'Chart' : 'Table'}
          </Button>
        </>
      }
    >
      <Problem error={error} />
      {as_table ? (
        <Numbers times={times} lines={lines} format={format} label={titles[name] ?? name} />
      ) : (
        <Chart
          label={`${description} ${summaryOf(lines, format)}`}
          {...{ times, lines, marks, format, onRange, onBack }}
          limits={near}
          binary={unit === 'bytes'}
          height={chart_pixels}
          className={css['chart']}
        />
      )}
      <p className={css['legend']}>
        {lines.map(({ label }, index) => (
          <span key={label} className={`${css['key']} ${index > 0 ? css['second'] : ''}`}>
            {label}
          </span>
        ))}
        <span>{`${description}${limitsInWords(limits.map(format))}`}</span>
      </p>
    </Card>
  )
}

function useSeries(service: Service, name: MetricName, { from, to, range_ms }: Window, fn: MetricFunction) {
  const { project_id, service_id } = service
  const { data, error } = useQuery({
    queryKey: ['getMetricSeries', service_id, name, from, to, range_ms, fn],
    queryFn: () => {
      const end = to ?? Date.now()
      const begin = from ?? end - range_ms
      const body = { name, fn, from: new Date(begin).toISOString(), to: new Date(end).toISOString() }
      return read.getMetricSeries({ project_id, service_id, body })
    },
    refetchInterval: to === undefined ? refresh_ms : false,
  })
  return useMemo(() => {
    const lines: Line[] = (data ?? []).map(({ labels, data }) => ({
      label: labels.role,
      values: data.map(({ value }) => value),
    }))
    return { lines, times: data?.[0]?.data.map(({ time }) => Date.parse(time) / 1000) ?? [], error }
  }, [data, error])
}

/** The same array while they are the same. A limit that is far away would press the line to the ground. */
function useNear(limits: readonly number[], top: number): readonly number[] {
  const near = limits.filter((limit) => top > limit / 4).join()
  return useMemo(() => (near === '' ? [] : near.split(',').map(Number)), [near])
}

/** Of connections there is a second one: of those that one role has through the pooler. */
function limitsOf({ resources, connection_pooler }: Service, name: MetricName): readonly number[] {
  const { cpu_millis, memory_gbs, disk_gbs, max_connections } = resources[0]?.spec ?? {}
  const gib = 2 ** 30
  const all: Partial<Record<MetricName, readonly (number | undefined)[]>> = {
    cpu_usage_millicores: [cpu_millis],
    memory_usage_bytes: [memory_gbs && memory_gbs * gib],
    disk_usage_bytes: [disk_gbs && disk_gbs * gib],
    connections: [max_connections, connection_pooler?.pool_size],
  }
  return (all[name] ?? []).filter((limit) => limit !== undefined)
}

function limitsInWords([all, pooled]: readonly string[]): string {
  if (all === undefined) return ''
  return pooled === undefined
    ? ` At most ${all}.`
    : ` At most ${all}; through the pooler at most ${pooled} of each role.`
}

function maxOf(lines: readonly Line[]): number {
  return Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)))
}

function summaryOf(lines: readonly Line[], format: (value: number) => string): string {
  const values = (lines[0]?.values ?? []).filter((value) => value !== null)
  if (values.length === 0) return 'Nothing was measured in this range.'
  return `From ${format(Math.min(...values))} to ${format(Math.max(...values))}, now ${format(values.at(-1) ?? 0)}.`
}

type NumbersProps = {
  label: string
  times: readonly number[]
  lines: readonly Line[]
  format: (value: number) => string
}

/** The newest first, without moments at which nothing was measured. */
function Numbers({ label, times, lines, format }: NumbersProps) {
  const isMeasured = (index: number) => lines.some(({ values }) => typeof values[index] === 'number')
  const rows = times.map((time, index) => ({ time, index })).filter(({ index }) => isMeasured(index))
  return (
    <div className={css['numbers']} tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {lines.map((line) => (
              <th key={line.label} scope="col">
                {line.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.toReversed().map(({ time, index }) => (
            <tr key={time}>
              <th scope="row">{exact(time * 1000, { ms: false })}</th>
              {lines.map(({ label, values }) => (
                <td key={label}>
                  {values[index] === null || values[index] === undefined ? '–' : format(values[index])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
