// Which lines may be on a page, and whether an entry is: the search terms and severities of a query, first in raw bytes,
// then on the parsed entry.
import type { LogQuery } from '../../provider.ts'
import type { Lines } from './blocks.ts'
import type { ParsedEntry } from './entry.ts'
import { exactSign, newSearch, type Sign } from './search.ts'

export type Scan = {
  /** A line that is asked for holds one of these; empty when no such thing can be said. */
  signs: readonly Sign[]
  /** The lines that may be asked for, from first to last, each from its start to its line break. */
  lines(block: Lines): [start: number, end: number][]
  accepts(entry: ParsedEntry): boolean
}

const line_break = 10

export function newScan({ search, severities }: Pick<LogQuery, 'search' | 'severities'>): Scan {
  const { signs: search_signs, mayBeIn, matches } = newSearch(search)
  // A line has one severity, so the sign of any of them will do.
  const signs = search_signs.length > 0 ? search_signs : severities.map(severitySign)
  const wanted = new Set(severities)
  return {
    signs,
    lines: (block) => (signs.length > 0 || mayBeIn(block.bytes.subarray(block.from, block.to)) ? allLines(block) : []),
    accepts: (entry) => (wanted.size === 0 || wanted.has(entry.severity)) && matches(entry.text),
  }
}

function severitySign(severity: string): Sign {
  return exactSign(`"error_severity":"${severity}"`)
}

function allLines({ bytes, from, to }: Lines): [number, number][] {
  const lines: [number, number][] = []
  for (let start = from; start < to;) {
    const end = bytes.indexOf(line_break, start)
    lines.push([start, end])
    start = end + 1
  }
  return lines
}
