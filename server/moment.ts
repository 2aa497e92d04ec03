// Moments as people write them (RFC 3339, any time zone, any number of decimals), brought to the one form that is kept: UTC
// with microseconds. That is what PostgreSQL notes commits in, and a thousand times finer than a Date.
import assert from 'node:assert/strict'
import { invalidRequest } from '#contract/problem.ts'

/** Whatever the schemas let through as `date-time`, which have refused what is in no calendar. */
const written = /^(\d{4}-\d\d-\d\d)[t\s](\d\d:\d\d):(\d\d)(?:\.(\d+))?(?:z|([+-]\d\d):?(\d\d)?)$/i

/** `2026-03-01T12:00:00.123456Z`. Finer decimals are dropped: no commit lies in between. A leap second is the second after it. */
export function parseMoment(text: string): string {
  const [, date, time, seconds, decimals = '', hours = '+00', minutes = '00'] = written.exec(text) ?? []
  const minute_ms = Date.parse(`${date}T${time}:00${hours}:${minutes}`)
  assert(!Number.isNaN(minute_ms), `${text} is a moment`)
  const second = new Date(minute_ms + Number(seconds) * 1000)
  return second.toISOString().replace('000Z', `${decimals.slice(0, 6).padEnd(6, '0')}Z`)
}

export function requireRestorable(window: { from: Date; until: Date } | undefined, target: Date): void {
  const aboutTarget = (message: string) => invalidRequest([{ path: '/target_time', message }])
  if (window === undefined) throw aboutTarget('the service has no complete snapshot yet; try again shortly')
  const { from, until } = window
  if (target >= from && target <= until) return
  const reach = `${from.toISOString()} to ${until.toISOString()}`
  throw aboutTarget(`is outside the moments that can be restored, ${reach}`)
}

/** How far ahead the end of something can be set. */
export const days_ahead_max = 3650

/** Why nothing can be set to end at this moment; undefined when it can. */
export function endProblem(end: Date, now: Date): string | undefined {
  const left_days = (end.getTime() - now.getTime()) / 86_400_000
  if (left_days > 0 && left_days <= days_ahead_max) return undefined
  return `must be a moment in the future, at most ${days_ahead_max} days from now`
}
