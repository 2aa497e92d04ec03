// Moments as people write them (RFC 3339, any time zone, any number of decimals), brought to the one form that is kept: UTC
// with microseconds. That is what PostgreSQL notes commits in, and a thousand times finer than a Date.

const written = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|z|[+-]\d\d:\d\d)$/

/** `2026-03-01T12:00:00.123456Z`. Finer decimals are dropped: no commit lies in between. Undefined: there is no such moment. */
export function parseMoment(text: string): string | undefined {
  const [, date, time, decimals = '', zone = ''] = written.exec(text) ?? []
  const second = new Date(`${date}T${time}${zone.toUpperCase()}`)
  if (Number.isNaN(second.getTime())) return undefined
  return second.toISOString().replace('000Z', `${decimals.slice(0, 6).padEnd(6, '0')}Z`)
}
