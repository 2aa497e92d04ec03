// A line of PostgreSQL's JSON log, taken apart. Pure. Members come in one order and most texts have nothing escaped, so
// a regular expression takes such a line apart in half the time that JSON.parse needs, which makes objects of what nobody
// asks for. It accepts nothing that JSON.parse refuses; whatever it does not know is left to JSON.parse.

/** What is not there is ''. */
export type LoggedLine = {
  /** `2026-11-15` and `01:07:59.927`, in UTC. */
  date: string
  time: string
  user: string
  /** What the process said that it was doing. */
  ps: string
  severity: string
  state_code: string
  message: string
  detail: string
  hint: string
  internal_query: string
  context: string
  statement: string
}

/** Undefined for what is no entry: garbage, or a line that was torn. */
export function parseLine(line: string): LoggedLine | undefined {
  const found = usual_form.exec(line)
  if (found === null) return parseMembers(line)
  return {
    date: found[1] ?? '',
    time: found[2] ?? '',
    user: unescaped(found[3]),
    ps: unescaped(found[4]),
    severity: found[5] ?? '',
    state_code: found[6] ?? '',
    message: unescaped(found[7]),
    detail: unescaped(found[8]),
    hint: unescaped(found[9]),
    internal_query: unescaped(found[10]),
    context: unescaped(found[11]),
    statement: unescaped(found[12]),
  }
}

/** The same of the head of a line that is longer: what is there before it ends, the last text as far as it goes. */
export function parseHead(head: string): LoggedLine | undefined {
  // The cut may have split an escape, the longest of which has six characters.
  for (let back = 0; back <= escape_chars_max; back += 1) {
    const found = parseMembers(`${head.slice(0, head.length - back)}"}`)
    if (found !== undefined) return found
  }
  const member_at = head.lastIndexOf(',"')
  return member_at < 0 ? undefined : parseMembers(`${head.slice(0, member_at)}}`)
}

const escape_chars_max = 6
const plain = String.raw`[^"\\\x00-\x1f]*`
const escape = String.raw`\\(?:["\\/bfnrt]|u[\da-fA-F]{4})`
const text = `"(${plain}(?:${escape}${plain})*)"`
const other = (name: string) => String.raw`(?:,"${name}":(?:"${plain}"|\d{1,19}))?`
const others = (...names: string[]) => names.map(other).join('')
const usual_form = new RegExp(
  [
    String.raw`^\{"timestamp":"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d\.\d{3}) (?:UTC|GMT)"`,
    `(?:,"user":${text})?`,
    others('dbname', 'pid', 'remote_host', 'remote_port', 'session_id', 'line_num'),
    `(?:,"ps":${text})?`,
    others('session_start', 'vxid', 'txid'),
    String.raw`,"error_severity":"(\w+)"(?:,"state_code":"(\w+)")?,"message":${text}`,
    `(?:,"detail":${text})?(?:,"hint":${text})?(?:,"internal_query":${text})?`,
    others('internal_position'),
    `(?:,"context":${text})?(?:,"statement":${text})?`,
    others('cursor_position', 'func_name', 'file_name', 'file_line_num'),
    others('application_name', 'backend_type', 'leader_pid', 'query_id'),
    String.raw`\}$`,
  ].join(''),
)

function unescaped(within_quotes = ''): string {
  // A text, because it is one in JSON.
  return within_quotes.includes('\\') ? (JSON.parse(`"${within_quotes}"`) as string) : within_quotes
}

const time_form = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d\.\d{3}) (?:UTC|GMT)$/

function parseMembers(json: string): LoggedLine | undefined {
  const members = parseObject(json)
  const textOf = (name: string) => (typeof members?.[name] === 'string' ? members[name] : '')
  const [, date = '', time = ''] = time_form.exec(textOf('timestamp')) ?? []
  const severity = textOf('error_severity')
  if (date === '' || severity === '' || typeof members?.['message'] !== 'string') return undefined
  return {
    date,
    time,
    user: textOf('user'),
    ps: textOf('ps'),
    severity,
    state_code: textOf('state_code'),
    message: members['message'],
    detail: textOf('detail'),
    hint: textOf('hint'),
    internal_query: textOf('internal_query'),
    context: textOf('context'),
    statement: textOf('statement'),
  }
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    // An object by the check; its members are looked at one by one.
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
