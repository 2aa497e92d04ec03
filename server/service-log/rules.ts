// What a request for logs asks of a provider. Pure. Problems are collected, so that the caller hears of all at once.
import { log_buckets_default, log_page_entries_max, log_severities, log_window_entries_max } from '#contract/log.ts'
import type { Problem } from '#contract/problem.ts'
import type { LogQuery } from '#providers/log.ts'
import { parseMoment } from '../moment.ts'

/** Entries that are held at a time while they are counted. */
const counted_at_once = 5_000

export type LogRequest = {
  cursor?: string
  after?: string
  page?: number
  node?: number
  search?: string[]
  severities?: string[]
  process_id?: number
  since?: string
  until?: string
}

/** `by_cursor`: the mode, and with it the shape of the answer. */
export function parseLogRequest(request: LogRequest, problems: Problem[]): { query: LogQuery; by_cursor: boolean } {
  const { cursor, page = 0, node, process_id } = request
  const by_cursor = cursor !== undefined || page === 0
  const until_ms = request.until === undefined ? undefined : millisecondsAround(request.until).ceiling_ms
  const place = { node, until_ms, limit: log_page_entries_max }
  if (!by_cursor) {
    const skip = page * log_page_entries_max
    if (skip >= log_window_entries_max) problems.push(beyondWindow)
    return { query: { ...place, skip, search: [], severities: [] }, by_cursor }
  }
  const since_ms = request.since === undefined ? undefined : millisecondsAround(request.since).floor_ms
  const severities = (request.severities ?? []).map((severity) => parseSeverity(severity, problems))
  const search = request.search ?? []
  const filter = { search, severities: [...new Set(severities)], process_id }
  return { query: { ...place, ...filter, cursor, since_ms, skip: 0 }, by_cursor }
}

type HistogramRequest = Pick<LogRequest, 'node' | 'search' | 'severities' | 'process_id' | 'since' | 'until'> & {
  buckets?: number
}

/** A stretch of time in equal parts. */
export type Buckets = { from_ms: number; to_ms: number; count: number }

const stretch_ms_default = 3_600_000

export function parseHistogramRequest(
  { buckets = log_buckets_default, ...request }: HistogramRequest,
  now_ms: number,
  problems: Problem[],
): { query: LogQuery; buckets: Buckets } {
  const { query } = parseLogRequest(request, problems)
  const to_ms = query.until_ms ?? now_ms
  const from_ms = query.since_ms ?? to_ms - stretch_ms_default
  if (problems.length === 0 && from_ms >= to_ms) {
    problems.push({ path: 'query/since', message: 'must be before until, which is now when it is left out' })
  }
  // Unlike a page, the first part has the moment at which it begins.
  return {
    query: { ...query, since_ms: from_ms - 1, until_ms: to_ms, limit: counted_at_once },
    buckets: { from_ms, to_ms, count: buckets },
  }
}

/** What goes back, or has an end, goes neither with a stream nor with `after`. */
export function forwardProblems(request: LogRequest): Problem[] {
  return (['cursor', 'page', 'until'] as const)
    .filter((name) => request[name] !== undefined)
    .map((name) => ({
      path: `query/${name}`,
      message: 'does not go with a stream, nor with after: both go forwards; leave it out',
    }))
}

const beyondWindow: Problem = {
  path: 'query/page',
  message: `pages reach the newest ${log_window_entries_max} entries only; leave page out and follow lastCursor to read on`,
}

function parseSeverity(text: string, problems: Problem[]): string {
  const upper = text.toUpperCase()
  // PostgreSQL has five levels of it and writes one.
  const severity = /^DEBUG[1-5]$/.test(upper) ? 'DEBUG' : upper
  if (!log_severities.some((known) => known === severity)) {
    const known = log_severities.join(', ')
    const problem = { path: 'query/severities', message: `must be among ${known}` }
    if (!problems.some(({ path }) => path === problem.path)) problems.push(problem)
  }
  return severity
}

/**
 * The milliseconds around a moment that is given to any precision. An entry's time is a whole millisecond, so "after"
 * compares with the one below and "before" with the one above.
 */
export function millisecondsAround(text: string): { floor_ms: number; ceiling_ms: number } {
  const floor_ms = Date.parse(parseMoment(text))
  const has_rest = /\.\d{3}\d*[1-9]/.test(text)
  return { floor_ms, ceiling_ms: has_rest ? floor_ms + 1 : floor_ms }
}
