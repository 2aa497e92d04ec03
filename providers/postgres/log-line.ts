// A line of PostgreSQL's JSON log, taken apart. Pure.

/** A missing member is ''. */
export type LoggedLine = {
  /** `2026-11-15` and `01:07:59.927`, in UTC. */
  date: string
  time: string
  user: string
  dbname: string
  application_name: string
  /** Of the process; undefined where the line does not tell. */
  pid: number | undefined
  /** The command tag that the process shows in ps. */
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

/** Undefined for what is no entry: garbage, or a torn line. */
export function parseLine(json: string): LoggedLine | undefined {
  const members = parseObject(json)
  const textOf = (name: string) => (typeof members?.[name] === 'string' ? members[name] : '')
  const [, date = '', time = ''] = time_form.exec(textOf('timestamp')) ?? []
  const severity = textOf('error_severity')
  if (date === '' || severity === '' || typeof members?.['message'] !== 'string') return undefined
  return {
    date,
    time,
    user: textOf('user'),
    dbname: textOf('dbname'),
    application_name: textOf('application_name'),
    pid: typeof members['pid'] === 'number' ? members['pid'] : undefined,
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

/** The same for the head of a longer line: the members before its end, the last text as far as it goes. */
export function parseHead(head: string): LoggedLine | undefined {
  // The cut may have split an escape, the longest of which has six characters.
  for (let back = 0; back <= escape_chars_max; back += 1) {
    const found = parseLine(`${head.slice(0, head.length - back)}"}`)
    if (found !== undefined) return found
  }
  const member_at = head.lastIndexOf(',"')
  return member_at < 0 ? undefined : parseLine(`${head.slice(0, member_at)}}`)
}

const escape_chars_max = 6
const time_form = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d\.\d{3}) (?:UTC|GMT)$/

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    // An object by the check; its members are checked one by one.
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
