// What the address of the page of logs asks of the API. Pure but for the present.
import { type LogHistogram, log_severities } from '#contract/log.ts'
import { ranges } from '../part/range.ts'
import type { Search } from '../search.ts'

/** Logs are kept for a week. */
export const log_ranges = [
  ...ranges.filter(({ value }) => value !== '30d'),
  { value: 'all', label: 'All', ms: 0 },
] as const
/** Two moments of the address; a choice while they are there. */
export const custom = { value: 'custom', label: 'from, until' } as const
export const shown_severities = log_severities.filter((severity) => severity !== 'DEBUG' && severity !== 'INFO')
/** Of a histogram over all that is kept. */
const longest_ms = 604_800_000
const words_max = 10

export const severitiesOf = (view: Search) => (view['severity'] ?? '').split(',').filter((severity) => severity !== '')

export const isCustom = (view: Search) => view['range'] === custom.value

const rangeOf = (view: Search) => log_ranges.find(({ value }) => value === view['range'])?.ms ?? 0

export function queryOf(view: Search) {
  const severities = severitiesOf(view)
  const range = rangeOf(view)
  return {
    ...filtersOf(view),
    ...(severities.length > 0 && { severities }),
    ...(range > 0 && { since: new Date(Date.now() - range).toISOString() }),
  }
}

/** Of all severities, so that the toggles can say how many entries each has. */
export function histogramQueryOf(view: Search, created_ms: number) {
  const now = Date.now()
  const since = new Date(Math.max(created_ms, now - (rangeOf(view) || longest_ms))).toISOString()
  return { since, until: new Date(now).toISOString(), ...filtersOf(view) }
}

function filtersOf(view: Search) {
  const search = (view['q'] ?? '')
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, words_max)
  return {
    ...(search.length > 0 && { search }),
    ...(isCustom(view) && view['from'] && { since: view['from'] }),
    ...(isCustom(view) && view['to'] && { until: view['to'] }),
    ...(view['node'] && { node: Number(view['node']) }),
  }
}

export function countsOf(histogram: LogHistogram | undefined): Partial<Record<string, number>> {
  const counts: Partial<Record<string, number>> = {}
  for (const bucket of histogram?.buckets ?? []) {
    for (const [severity, count] of Object.entries(bucket.counts)) counts[severity] = (counts[severity] ?? 0) + count
  }
  return counts
}
