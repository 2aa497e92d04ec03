// Which lines may be on a page, and whether an entry is: the search terms and severities of a query, first in raw bytes,
// then on the parsed entry.
import type { LogQuery } from '../../provider.ts'
import type { Lines } from './blocks.ts'
import type { ParsedEntry } from './entry.ts'
import { exactSign, newSearch, type Sign } from './search.ts'

export type Scan = {
  /** A line that is asked for holds one of these; empty when no such thing can be said. */
  signs: readonly Sign[]
  /** Whether one of these lines may be asked for. */
  mayBeIn(block: Lines): boolean
  accepts(entry: ParsedEntry): boolean
}

export function newScan({ search, severities }: Pick<LogQuery, 'search' | 'severities'>): Scan {
  const { signs: search_signs, mayBeIn, matches } = newSearch(search)
  // A line has one severity, so the sign of any of them will do.
  const signs = search_signs.length > 0 ? search_signs : severities.map(severitySign)
  const wanted = new Set(severities)
  return {
    signs,
    mayBeIn: ({ bytes, from, to }) => signs.length > 0 || mayBeIn(bytes.subarray(from, to)),
    accepts: (entry) => (wanted.size === 0 || wanted.has(entry.severity)) && matches(entry.text),
  }
}

function severitySign(severity: string): Sign {
  return exactSign(`"error_severity":"${severity}"`)
}
