// Moments and durations as people write them: `15m ago`, `in 7d`, `yesterday 14:00`, `2026-11-15 12:00`, RFC 3339. Pure: now comes in.
import { parseDuration } from '#contract/duration.ts'
import { isInCalendar } from '../calendar.ts'
import { UsageError } from '../command.ts'

/** bare: which way a duration without `ago` or `in` leads. The time of day is the machine's. */
export function parseMoment(text: string, now: Date, bare: 'ago' | 'in' = 'ago'): string {
  const words = text.trim().replaceAll(/\s+/g, ' ')
  const [, before, length = '', after] = /^(in )?(\S+?)( ago)?$/.exec(words) ?? []
  const length_ms = parseDuration(length)
  if (length_ms !== undefined && !(before && after)) {
    const leads_back = after !== undefined || (before === undefined && bare === 'ago')
    return new Date(now.getTime() + (leads_back ? -length_ms : length_ms)).toISOString()
  }
  if (words === 'now') return now.toISOString()
  const day = /^(today|yesterday|tomorrow)(?: ([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?)?$/.exec(words)
  if (day !== null) {
    const [, name, hour = 0, minute = 0, second = 0] = day
    const offset = name === 'yesterday' ? -1 : name === 'tomorrow' ? 1 : 0
    const date = new Date(now)
    date.setDate(date.getDate() + offset)
    date.setHours(Number(hour), Number(minute), Number(second), 0)
    return date.toISOString()
  }
  // A date with a time, with a zone or in the machine's own.
  if (/^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/i.test(words)) {
    const date = new Date(words.length === 10 ? `${words}T00:00` : words.replace(' ', 'T'))
    // As it was written where the API reads it so: a Date forgets microseconds.
    if (!Number.isNaN(date.getTime()) && isInCalendar(words))
      return /T.{8}(\.\d+)?(Z|[+-].{5})$/.test(words) ? words : date.toISOString()
  }
  const [length_form, day_form] = bare === 'in' ? ['2h', 'tomorrow 14:00'] : ['15m ago', 'yesterday 14:00']
  throw new UsageError(
    `${JSON.stringify(text)} is no moment; write ${length_form}, ${day_form}, 2026-11-15 12:00 or 2026-11-15T12:00:00Z`,
  )
}
