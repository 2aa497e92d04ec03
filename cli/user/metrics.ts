// howdah service metrics: each metric as one line of bars, for people.
import type { Api } from '#contract/api.ts'
import type { OutputOf } from '#contract/endpoint.ts'
import { metric_series, type MetricName } from '#contract/metric.ts'
import { type Context, formatOf } from './context.ts'
import { parseMoment } from './moment.ts'
import { columnsOf, printAnswer } from './output.ts'
import { placeOf, serviceOf } from './service-access.ts'

/** Beside the line of bars. */
const other_columns_width = 55
const bars_min = 10
const bars = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
const bars_max = 60
const bucket_seconds_min = 10

type Series = OutputOf<Api['getMetricSeries']>[number]
type Drawn = { metric: MetricName; series: Series }

export async function runMetrics(context: Context): Promise<void> {
  const { input, terminal } = context
  const now = new Date()
  const from = parseMoment(input.text('since') ?? '1h', now)
  const session = await context.session()
  const place = placeOf(await serviceOf(context, session))
  const seconds = (now.getTime() - Date.parse(from)) / 1000
  const bars_shown = Math.min(bars_max, Math.max(bars_min, (terminal.columns ?? Infinity) - other_columns_width))
  const bucket_seconds = Math.max(bucket_seconds_min, Math.ceil(seconds / bars_shown))
  const names = await session.client.listMetricSeries(place)
  const read = async (metric: MetricName): Promise<Drawn[]> => {
    const body = { name: metric, from, to: now.toISOString(), bucket_seconds }
    const found = await session.client.getMetricSeries({ ...place, body })
    return found.map((series) => ({ metric, series }))
  }
  const all = (await Promise.all(names.map(read))).flat()
  const format = formatOf(context, session)
  if (format !== 'table') {
    const rows = all.map(({ metric, series }) => ({ name: metric, ...series }))
    return printAnswer(terminal, rows, { format, columns: columnsOf(['name']), is_read: true })
  }
  const lines = all.map(lineOf).filter((line) => line !== undefined)
  if (lines.length === 0) return terminal.say(`Nothing was measured since ${from}.`)
  const columns = columnsOf(['metric', 'graph', 'min', 'max', 'now'])
  printAnswer(terminal, lines, { format, columns, is_read: true })
}

/** Undefined where nothing was measured. */
function lineOf({ metric, series }: Drawn): Record<string, string> | undefined {
  const values = series.data.map(({ value }) => value)
  const measured = values.filter((value) => value !== null)
  const last = measured.at(-1)
  if (last === undefined) return undefined
  const { unit } = metric_series[metric]
  const { role } = series.labels
  return {
    metric: role === 'primary' ? metric : `${metric} (${role})`,
    graph: sparkline(values),
    min: amountOf(Math.min(...measured), unit),
    max: amountOf(Math.max(...measured), unit),
    now: amountOf(last, unit),
  }
}

/** From 0 or the smallest value below it; a gap where nothing was measured. */
export function sparkline(values: readonly (number | null)[]): string {
  const measured = values.filter((value) => value !== null)
  const low = Math.min(0, ...measured)
  const range = Math.max(0, ...measured) - low
  return values
    .map((value) => {
      if (value === null) return ' '
      return bars[range === 0 ? 0 : Math.round(((value - low) / range) * (bars.length - 1))]
    })
    .join('')
}

/** `212 MB`, `0.98`; the name of the metric says what is counted. */
export function amountOf(value: number, unit: string): string {
  if (unit !== 'bytes') return roundOf(value)
  const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)))
  return `${roundOf(value / 1000 ** power)} ${['B', 'KB', 'MB', 'GB', 'TB'][power]}`
}

function roundOf(value: number): string {
  return value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(value >= 10 ? 1 : 2)
}
