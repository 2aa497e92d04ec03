// Which days there are. A Date takes February 30 for March 2. Pure.

/** Of a text that begins with a date, such as 2026-03-01. */
export function isInCalendar(text: string): boolean {
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text.slice(0, 10))
}
