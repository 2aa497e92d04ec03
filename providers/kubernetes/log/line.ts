// A line of a Pod's log: the time at which the node wrote it, and a record of PostgreSQL's, if it is one. Pure. What the operator's own
// programs say is no entry. Passwords are removed here, as everywhere.
import { loggedEntry, type ParsedEntry } from '../../postgres/log-entry.ts'
import type { LoggedLine } from '../../postgres/log-line.ts'

/** Where a line is: its time, to the nanosecond, and how many lines with the same time are before it. */
export type LinePlace = { time: string; nth: number }

export type Line = LinePlace & { entry: ParsedEntry | undefined }

/** The folder of the container below which the database lies. */
const hidden = '/var/lib/postgresql/data'
const line_form = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z (.*)$/s

/** `before`: the place of the line before it. */
export function parseLogLine(text: string, before: LinePlace | undefined): Line | undefined {
  const [, second, fraction = '', rest = ''] = line_form.exec(text) ?? []
  if (second === undefined) return undefined
  const time = `${second}.${fraction.padEnd(9, '0')}Z`
  return { time, nth: before?.time === time ? before.nth + 1 : 0, entry: entryIn(rest) }
}

export const isAfter = (one: LinePlace, other: LinePlace): boolean =>
  one.time === other.time ? one.nth > other.nth : one.time > other.time

function entryIn(json: string): ParsedEntry | undefined {
  if (!json.includes('"record"')) return undefined
  const { logger, record } = membersOf(json)
  if (logger !== 'postgres' || typeof record !== 'object' || record === null) return undefined
  // An object by the check; its members are checked one by one.
  const members = record as Readonly<Record<string, unknown>>
  const textOf = (name: string) => (typeof members[name] === 'string' ? members[name] : '')
  const [, date, time] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d\.\d{3}) (?:UTC|GMT)$/.exec(textOf('log_time')) ?? []
  const severity = textOf('error_severity')
  if (date === undefined || time === undefined || severity === '') return undefined
  const logged: LoggedLine = {
    date,
    time,
    user: textOf('user_name'),
    dbname: textOf('database_name'),
    application_name: textOf('application_name'),
    pid: /^\d{1,10}$/.test(textOf('process_id')) ? Number(textOf('process_id')) : undefined,
    ps: textOf('command_tag'),
    severity,
    state_code: textOf('sql_state_code'),
    message: textOf('message'),
    detail: textOf('detail'),
    hint: textOf('hint'),
    internal_query: textOf('internal_query'),
    context: textOf('context'),
    statement: textOf('query'),
  }
  return loggedEntry(logged, Date.parse(`${date}T${time}Z`), hidden)
}

function membersOf(json: string): { logger?: unknown; record?: unknown } {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
