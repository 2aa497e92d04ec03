// What a service uses, over the last hour or, of a young one, quarter of an hour: four small lines with the newest value beside each.
import { useQuery } from '@tanstack/react-query'
import type { MetricName } from '#contract/metric.ts'
import { metric_series } from '#contract/metric.ts'
import type { Service } from '#contract/service.ts'
import { measured } from '../part/amount.ts'
import { ButtonLink } from '../part/button.tsx'
import { Card } from '../part/layout.tsx'
import { usualRange } from '../part/range.ts'
import { paths } from '../paths.ts'
import { read } from '../query.ts'
import css from './overview.module.css'

const shown = [
  ['cpu_usage_millicores', 'CPU'],
  ['memory_usage_bytes', 'Memory'],
  ['disk_usage_bytes', 'Storage'],
  ['connections', 'Connections'],
] as const satisfies readonly (readonly [MetricName, string])[]
const refresh_ms = 10_000

export function Sparks({ service: { project_id, service_id, created } }: { service: Service }) {
  const { label: length, ms } = usualRange(created)
  return (
    <Card
      title={`Last ${length}`}
      actions={
        <ButtonLink small to={paths.service(project_id, service_id, 'metrics')}>
          All metrics
        </ButtonLink>
      }
    >
      <div className={css['sparks']}>
        {shown.map(([name, label]) => (
          <Spark key={name} {...{ project_id, service_id, name, label, ms }} />
        ))}
      </div>
    </Card>
  )
}

type SparkProps = {
  project_id: string
  service_id: string
  name: MetricName
  label: string
  /** Of the range. */ ms: number
}

function Spark({ project_id, service_id, name, label, ms }: SparkProps) {
  const { data } = useQuery({
    queryKey: ['getMetricSeries', service_id, name, 'spark', ms],
    queryFn: () => {
      const to = Date.now()
      const body = { name, from: new Date(to - ms).toISOString(), to: new Date(to).toISOString() }
      return read.getMetricSeries({ project_id, service_id, body })
    },
    refetchInterval: refresh_ms,
  })
  const measurements = data?.find(({ labels }) => labels.role === 'primary')?.data.map(({ value }) => value) ?? []
  // A service that is younger than the range has a line from end to end as well.
  const isValue = (value: number | null) => value !== null
  const [first, end] = [measurements.findIndex(isValue), measurements.findLastIndex(isValue) + 1]
  const values = measurements.slice(Math.max(0, first), end)
  const last = values.findLast((value) => value !== null)
  return (
    <div className={css['spark']}>
      <span>{label}</span>
      <b>{last === undefined || last === null ? '–' : measured(last, metric_series[name].unit)}</b>
      <svg viewBox="0 0 100 30" preserveAspectRatio="none" aria-hidden="true">
        <path
          d={lineOf(values)}
          fill="none"
          stroke="var(--accent)"
          strokeWidth="1.5"
          vectorEffect="non-scaling-stroke"
        />
      </svg>
    </div>
  )
}

/** A gap stays a gap. */
function lineOf(values: readonly (number | null)[]): string {
  const max = Math.max(...values.map((value) => value ?? 0), 1e-9) * 1.1
  const step = 100 / Math.max(1, values.length - 1)
  return values
    .map((value, index) => {
      if (value === null) return ''
      const verb = index === 0 || values[index - 1] === null ? 'M' : 'L'
      return `${verb}${(index * step).toFixed(1)} ${(29 - (value / max) * 28).toFixed(1)}`
    })
    .join('')
}
