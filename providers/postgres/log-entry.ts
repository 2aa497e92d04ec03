// One line of PostgreSQL's JSON log as an entry of the API. Pure. A line that is no whole entry (garbage, torn) and a line about
// the control plane's own sessions give no entry. Passwords and the host's paths are removed here, before a caller can read or
// search the text.
import type { LogEntry } from '../log.ts'
import { type LoggedLine, parseHead, parseLine } from './log-line.ts'
import { masked, withoutPasswords } from './log-mask.ts'

/** An entry with its text whole: searched like this, shown within its bounds. */
export type ParsedEntry = { time_ms: number; timestamp: string; severity: string; text: string; writer: Writer }

/** Who caused it. */
type Writer = Pick<LogEntry, 'process_id' | 'user' | 'database' | 'application' | 'state_code'>

const message_chars_max = 8_192
const application_chars_max = 64
/** What PostgreSQL writes where nothing went wrong. */
const success_code = '00000'
/** How a line begins. */
const time_form = /^\{"timestamp":"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d\.\d{3}) $/
const time_bytes = '{"timestamp":"0000-00-00 00:00:00.000 '.length
/** PostgreSQL's other texts follow the message, each on a line of its own, as in its plain log. */
export const text_labels = {
  detail: '\nDETAIL:  ',
  hint: '\nHINT:  ',
  internal_query: '\nQUERY:  ',
  context: '\nCONTEXT:  ',
  statement: '\nSTATEMENT:  ',
} as const

/** The time at which the line that starts here was written; undefined when no entry starts here. */
export function timeAt(bytes: Buffer, start: number): number | undefined {
  const [, date, time] = time_form.exec(bytes.toString('latin1', start, start + time_bytes)) ?? []
  const time_ms = Date.parse(`${date}T${time}Z`)
  return Number.isNaN(time_ms) ? undefined : time_ms
}

/**
 * `time_ms`: from `timeAt`. `hidden`: the folder of the host below which the service lies, which tenants do not see.
 * `cut`: the line is the head of a longer one, so it may end anywhere.
 */
export function parseEntry(line: string, time_ms: number, hidden = '', cut = false): ParsedEntry | undefined {
  const logged = cut ? parseHead(line) : parseLine(line)
  return logged && loggedEntry(logged, time_ms, hidden)
}

/** Undefined: it is about a session of the control plane. */
export function loggedEntry(logged: LoggedLine, time_ms: number, hidden: string): ParsedEntry | undefined {
  if (isOurs(logged)) return undefined
  const { date, time, severity } = logged
  const text = withoutPath(textOf(logged), hidden)
  return { time_ms, timestamp: `${date}T${time}Z`, severity, text, writer: writerOf(logged) }
}

function writerOf({ pid, user, dbname, application_name, state_code }: LoggedLine): Writer {
  return {
    ...(pid !== undefined && { process_id: pid }),
    ...(user !== '' && { user }),
    ...(dbname !== '' && { database: dbname }),
    ...(application_name !== '' && { application: application_name.slice(0, application_chars_max) }),
    ...(state_code !== '' && state_code !== success_code && { state_code }),
  }
}

/** As callers get it. `line_bytes`: of the whole line, where only its head was read. */
export function entryOf({ timestamp, severity, text, writer }: ParsedEntry, line_bytes?: number): LogEntry {
  if (line_bytes === undefined && text.length <= message_chars_max) {
    return { timestamp, severity, message: text, ...writer }
  }
  const kept = text.slice(0, message_chars_max).toWellFormed()
  const left_out =
    line_bytes === undefined ? `${text.length - kept.length} more characters` : `an entry of ${line_bytes} bytes`
  return { timestamp, severity, message: `${kept}… [cut: ${left_out}]`, ...writer }
}

/** Only the control plane is `postgres`. A client that only connects, or disconnects during authentication, is mostly its probe. */
function isOurs({ user, ps, message }: LoggedLine): boolean {
  if (user === 'postgres' || message.startsWith('connection received: ')) return true
  return ps === 'authentication' && message.startsWith('could not receive data from client')
}

function textOf(logged: LoggedLine): string {
  const texts = withoutPasswords(logged)
  let text = texts.message
  for (const name of label_names) if (texts[name] !== '') text += text_labels[name] + texts[name]
  return text
}

/** Such as that of the file of client rules, which the entry of every failed login names. */
function withoutPath(text: string, hidden: string): string {
  return hidden === '' ? text : text.replaceAll(hidden, masked)
}

const label_names = ['detail', 'hint', 'internal_query', 'context', 'statement'] as const
