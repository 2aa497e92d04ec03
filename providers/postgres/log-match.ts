// Whether a caller asks for an entry of a log. Pure. Decided on the text without its passwords.
import type { LogFilter, LogQuery } from '../log.ts'
import type { ParsedEntry } from './log-entry.ts'

export function newMatch({ search, severities, process_id }: LogFilter) {
  const terms = search.map(foldCase).filter((term) => term !== '')
  return ({ severity, text, writer }: Pick<ParsedEntry, 'severity' | 'text' | 'writer'>): boolean => {
    if (process_id !== undefined && writer.process_id !== process_id) return false
    if (severities.length > 0 && !severities.includes(severity)) return false
    const folded = terms.length > 0 ? foldCase(text) : ''
    return terms.every((term) => folded.includes(term))
  }
}

export function isWithin(
  time_ms: number,
  { since_ms = -Infinity, until_ms = Infinity }: Pick<LogQuery, 'since_ms' | 'until_ms'>,
): boolean {
  return time_ms > since_ms && time_ms < until_ms
}

/** Two texts that differ in case only become equal, in every script; the two small sigmas too. */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ')
}
