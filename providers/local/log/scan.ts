// Which lines of a block may be on a page, and whether an entry is: the search terms and severities of a query, first as
// signs in raw bytes, then on the parsed entry.
import type { LogQuery } from '../../provider.ts'
import type { Block } from './blocks.ts'
import type { ParsedEntry } from './entry.ts'
import type { Scanner } from './scanner.ts'
import { exactSign, newSearch, type Sign } from './search.ts'

type Lines = Extract<Block, { kind: 'lines' }>

export type Scan = {
  /** Whether most lines are passed over, so that reading ahead is worth its memory. */
  selective: boolean
  using(scanner: Scanner): Scan
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
  const accepts = (entry: ParsedEntry) => (wanted.size === 0 || wanted.has(entry.severity)) && matches(entry.text)
  const selective = search.length > 0 || severities.length > 0
  const scan: Scan = {
    selective,
    accepts,
    lines: allLines,
    using: (scanner) => ({
      ...scan,
      lines: (block) => {
        if (signs.length > 0) return signedLines(block, scanner, signs)
        return mayBeIn(block.bytes.subarray(block.from, block.to)) ? allLines(block) : []
      },
    }),
  }
  return scan
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

function signedLines(block: Lines, scanner: Scanner, signs: readonly Sign[]): [number, number][] {
  const { bytes, index, from, to } = block
  const lines = new Map<number, number>()
  for (const sign of signs) {
    for (let at = scanner.find(index, from, to, sign); at >= 0;) {
      const start = Math.max(from, bytes.lastIndexOf(line_break, at) + 1)
      const end = bytes.indexOf(line_break, at)
      lines.set(start, end)
      at = scanner.find(index, end + 1, to, sign)
    }
  }
  return [...lines].sort(([a], [b]) => a - b)
}
