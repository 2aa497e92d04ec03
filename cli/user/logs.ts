// howdah service logs: entries of PostgreSQL, oldest first; followed by a stream without a gap or a repetition.
import { messageOf } from '../visible.ts'
import type { StreamInput } from '#contract/client.ts'
import { resumed } from '#contract/follow.ts'
import type { LogEntry, ServiceLogs } from '#contract/log.ts'
import type { Static } from 'typebox'
import { exit_codes, UsageError } from '../command.ts'
import { type Context, formatOf } from './context.ts'
import { parseMoment } from './moment.ts'
import { placeOf, serviceOf } from './service-access.ts'
import type { Session } from './session.ts'

const lines_default = 200
const lines_max = 100_000

type Filters = { search?: string[]; severities?: string[]; node?: number; since?: string; until?: string }
type Read = (query: Filters & { cursor?: string }) => Promise<Static<typeof ServiceLogs>>

export async function runLogs(context: Context): Promise<number> {
  const { input, terminal } = context
  const filters = filtersOf(context)
  const lines = linesOf(context)
  const is_followed = input.isSet('follow')
  if (is_followed && filters.until !== undefined)
    throw new UsageError('--until ends what --follow goes on with; choose one')
  const session = await context.session()
  const place = placeOf(await serviceOf(context, session))
  const read: Read = (query) => session.client.getServiceLogs({ ...place, query })
  const format = formatOf(context, session)
  const print = (entry: LogEntry) => {
    const { timestamp, severity, message } = entry
    if (format !== 'table') terminal.print(JSON.stringify(entry))
    else terminal.print(`${timestamp} ${terminal.coloured(severity)} ${message.replaceAll('\n', '\n    ')}`)
  }
  if (!is_followed) {
    for (const entry of await newest(read, filters, lines)) print(entry)
    return exit_codes.done
  }
  // A stream begins with the newest page.
  const { entries = [] } = await read(filters)
  const skipped = Math.max(0, entries.length - lines)
  return await follow(context, session, { ...place, query: filters }, skipped, print)
}

/** Until Ctrl-C, also over a server that is started anew. */
async function follow(
  { terminal }: Context,
  { client }: Session,
  input: StreamInput<'getServiceLogs'>,
  skipped: number,
  print: (entry: LogEntry) => void,
): Promise<number> {
  const end = new AbortController()
  process.once('SIGINT', () => end.abort())
  const tell = (error: unknown) => terminal.say(`${messageOf(error)}; trying again`)
  let count = 0
  for await (const { entry } of resumed(client, 'getServiceLogs', { ...input, signal: end.signal }, tell)) {
    count += 1
    if (count > skipped) print(entry)
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
  const otherwise = input.isSet('since') ? lines_max : lines_default
  const lines = text === undefined ? otherwise : wholeNumber('--lines', text)
  return Math.min(lines, lines_max)
}

function wholeNumber(option: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`${option} must be a whole number`)
  return Number(text)
}
