// One line of PostgreSQL's JSON log as an entry of the API. Pure. What is not a whole entry (garbage, a torn line) and what is
// the control plane's own doing is no entry. Passwords are taken out here, before anybody can see or search the text.
import type { LogEntry } from '../../provider.ts'
import { type LoggedTexts, withoutPasswords } from './mask.ts'

/** An entry with its text whole: searched like this, shown within its bounds. */
export type ParsedEntry = { time_ms: number; timestamp: string; severity: string; text: string }

const message_chars_max = 8_192
const time_prefix = Buffer.from('{"timestamp":"')
const time_chars = '2026-11-15 01:07:59.927'.length
const time_form = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d\.\d{3}) (?:UTC|GMT)$/

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
  const from = start + time_prefix.length
  if (from + time_chars > bytes.length || bytes.compare(time_prefix, 0, time_prefix.length, start, from) !== 0) {
    return undefined
  }
  const time_ms = Date.parse(`${bytes.toString('latin1', from, from + time_chars).replace(' ', 'T')}Z`)
  return Number.isNaN(time_ms) ? undefined : time_ms
}

/** `time_ms`: as `timeAt` found it. `cut`: the line is the head of a longer one, so it may end anywhere. */
export function parseEntry(line: string, time_ms: number, cut = false): ParsedEntry | undefined {
  const logged = cut ? parseHead(line) : parseObject(line)
  if (logged === undefined) return undefined
  const [, date, time] = time_form.exec(textOf(logged, 'timestamp')) ?? []
  const severity = textOf(logged, 'error_severity')
  const message = logged['message']
  if (date === undefined || severity === '' || typeof message !== 'string' || isOurs(logged, message)) return undefined
  return { time_ms, timestamp: `${date}T${time}Z`, severity, text: textFor(logged, message) }
}

/** As callers get it. `line_bytes`: of the whole line, where only its head was read. */
export function entryOf({ timestamp, severity, text }: ParsedEntry, line_bytes?: number): LogEntry {
  if (line_bytes === undefined && text.length <= message_chars_max) return { timestamp, severity, message: text }
  const kept = text.slice(0, message_chars_max).toWellFormed()
  const left_out =
    line_bytes === undefined ? `${text.length - kept.length} more characters` : `an entry of ${line_bytes} bytes`
  return { timestamp, severity, message: `${kept}… [cut: ${left_out}]` }
}

/** Only the control plane is `postgres`. Who merely knocks, or goes away while being asked who it is, is mostly its probe. */
function isOurs(logged: Logged, message: string): boolean {
  if (logged['user'] === 'postgres' || message.startsWith('connection received: ')) return true
  return logged['ps'] === 'authentication' && message.startsWith('could not receive data from client')
}

function textFor(logged: Logged, message: string): string {
  const texts: LoggedTexts = withoutPasswords({
    message,
    detail: textOf(logged, 'detail'),
    hint: textOf(logged, 'hint'),
    internal_query: textOf(logged, 'internal_query'),
    context: textOf(logged, 'context'),
    statement: textOf(logged, 'statement'),
    state_code: textOf(logged, 'state_code'),
  })
  let text = texts.message
  for (const name of label_names) if (texts[name] !== '') text += text_labels[name] + texts[name]
  return text
}

const label_names = ['detail', 'hint', 'internal_query', 'context', 'statement'] as const

type Logged = Record<string, unknown>

function textOf(logged: Logged, name: string): string {
  const value = logged[name]
  return typeof value === 'string' ? value : ''
}

function parseObject(text: string): Logged | undefined {
  try {
    const value: unknown = JSON.parse(text)
    // An object by the check; its members are looked at one by one.
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Logged) : undefined
  } catch {
    return undefined
  }
}

/** The members of an object that are there before its text is cut off; the last one as far as it goes. */
function parseHead(text: string): Logged | undefined {
  // The cut may have split an escape, the longest of which has six characters.
  for (let back = 0; back <= escape_chars_max; back += 1) {
    const found = parseObject(`${text.slice(0, text.length - back)}"}`)
    if (found !== undefined) return found
  }
  const member_at = text.lastIndexOf(',"')
  return member_at < 0 ? undefined : parseObject(`${text.slice(0, member_at)}}`)
}

const escape_chars_max = 6
