// howdah service logs: entries of PostgreSQL, oldest first. Following goes on from the last entry without a gap or a repetition: entries of
// its very moment are told apart by how many of them have been printed.
import { setTimeout as pause } from 'node:timers/promises'
import type { LogEntry, ServiceLogs } from '#contract/log.ts'
import type { Static } from 'typebox'
import { exit_codes, UsageError } from '../command.ts'
import { type Context, formatOf } from './context.ts'
import { parseMoment } from './moment.ts'
import { placeOf, serviceOf } from './service-access.ts'

const lines_default = 200
const lines_max = 100_000
const poll_ms = 1000

type Filters = { search?: string[]; severities?: string[]; node?: number; since?: string; until?: string }
type Read = (query: Filters & { cursor?: string }) => Promise<Static<typeof ServiceLogs>>

export async function runLogs(context: Context): Promise<number> {
  const { terminal } = context
  const session = await context.session()
  const filters = filtersOf(context)
  const lines = linesOf(context)
  const { ids } = await serviceOf(context, session)
  const read: Read = (query) => session.client.getServiceLogs({ ...placeOf(ids), query })
  const format = formatOf(context, session)
  const print = (entries: readonly LogEntry[]) => {
    for (const entry of entries) {
      const { timestamp, severity, message } = entry
      if (format !== 'table') terminal.print(JSON.stringify(entry))
      else terminal.print(`${timestamp} ${terminal.coloured(severity)} ${message.replaceAll('\n', '\n    ')}`)
    }
  }
  const first = await newest(read, filters, lines)
  print(first)
  if (!context.input.isSet('follow')) return exit_codes.done
  return await follow(read, filters, first, print)
}

async function follow(
  read: Read,
  filters: Filters,
  first: readonly LogEntry[],
  print: (entries: readonly LogEntry[]) => void,
): Promise<number> {
  const end = new AbortController()
  process.once('SIGINT', () => end.abort())
  const start = new Date().toISOString()
  let last = first.filter(({ timestamp }) => timestamp === first.at(-1)?.timestamp)
  while (!end.signal.aborted) {
    await pause(poll_ms, undefined, { signal: end.signal }).catch(() => undefined)
    const moment = last[0]?.timestamp ?? start
    const since = new Date(Date.parse(moment) - 1).toISOString()
    const entries = (await newest(read, { ...filters, since }, lines_max)).filter(
      ({ timestamp }) => timestamp >= moment,
    )
    const of_moment = entries.filter(({ timestamp }) => timestamp === moment)
    print([...of_moment.slice(last.length), ...entries.filter(({ timestamp }) => timestamp > moment)])
    const latest = entries.at(-1)?.timestamp
    if (latest !== undefined) last = entries.filter(({ timestamp }) => timestamp === latest)
  }
  return exit_codes.interrupted
}

/** Page by page, and then the oldest first. */
async function newest(read: Read, filters: Filters, lines: number): Promise<LogEntry[]> {
  const entries: LogEntry[] = []
  let cursor: string | undefined
  do {
    const page = await read({ ...filters, ...(cursor !== undefined && { cursor }) })
    entries.push(...(page.entries ?? []))
    cursor = page.last_cursor
  } while (cursor !== undefined && entries.length < lines)
  return entries.slice(0, lines).toReversed()
}

function filtersOf({ input }: Context): Filters {
  const [since, until, node] = [input.text('since'), input.text('until'), input.text('node')]
  const [search, severities] = [input.texts('grep'), input.texts('severity').flatMap((text) => text.split(','))]
  return {
    ...(search.length > 0 && { search: [...search] }),
    ...(severities.length > 0 && { severities }),
    ...(node !== undefined && { node: wholeNumber('--node', node) }),
    ...(since !== undefined && { since: parseMoment(since, new Date()) }),
    ...(until !== undefined && { until: parseMoment(until, new Date()) }),
  }
}

function linesOf({ input }: Context): number {
  const text = input.text('lines')
  const lines = text === undefined ? lines_default : wholeNumber('--lines', text)
  return Math.min(lines, lines_max)
}

function wholeNumber(option: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`${option} must be a whole number`)
  return Number(text)
}
