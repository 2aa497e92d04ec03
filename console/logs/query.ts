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
const terms_max = 10

export const severitiesOf = (view: Search) => (view['severity'] ?? '').split(',').filter((severity) => severity !== '')

/** Those that are said, each on a line, and below them what is being typed. */
export function termsOf(view: Search): { said: readonly string[]; typed: string } {
  const lines = (view['q'] ?? '').split('\n')
  return { said: lines.slice(0, -1), typed: lines.at(-1) ?? '' }
}

/** What the address has of them. A term is there once. */
export function termsText(said: readonly string[], typed: string): string {
  const terms = new Set(said.map((term) => term.trim()).filter((term) => term !== ''))
  return [...terms, typed.replaceAll('\n', ' ')].join('\n')
}

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
  const { said, typed } = termsOf(view)
  const search = [...said, typed.trim()].filter((term) => term !== '').slice(0, terms_max)
  const pid = view['pid'] ?? ''
  return {
    ...(search.length > 0 && { search }),
    ...(isCustom(view) && view['from'] && { since: view['from'] }),
    ...(isCustom(view) && view['to'] && { until: view['to'] }),
    ...(view['node'] && { node: Number(view['node']) }),
    ...(/^\d{1,9}$/.test(pid) && { process_id: Number(pid) }),
  }
}

export function countsOf(histogram: LogHistogram | undefined): Partial<Record<string, number>> {
  const counts: Partial<Record<string, number>> = {}
  for (const bucket of histogram?.buckets ?? []) {
    for (const [severity, count] of Object.entries(bucket.counts)) counts[severity] = (counts[severity] ?? 0) + count
  }
  return counts
}
