// The logs of the memory provider: an entry for each change. One page has all of them; a position is the number of entries before it.
import type { LogQuery, Logs, LogTailQuery, PlacedEntry } from '../log.ts'
import { isWithin, newMatch } from '../postgres/log-match.ts'
import type { Thing, Wanted } from './thing.ts'

export const newLogs = (find: (id: string) => Thing<Wanted> | undefined): Logs => ({
  page: async (id, query) => {
    const newest_first = matching(find(id), query)?.toReversed()
    const placed = newest_first?.slice(query.skip, query.skip + query.limit)
    return placed ? { entries: placed.map(({ entry }) => entry), placed: () => placed } : { refused: 'node' }
  },
  tail: async (id, { after = '0', ...query }) => {
    const placed = matching(find(id), query)
    if (placed === undefined) return { refused: 'node' }
    const count = find(id)?.log.length ?? 0
    if (!/^\d{1,9}$/.test(after) || Number(after) > count) return { refused: 'cursor' }
    return { entries: placed.filter(({ at }) => Number(at) > Number(after)), at: String(count) }
  },
})

/** Undefined: it has no such node. */
function matching(owner: Thing<Wanted> | undefined, query: LogTailQuery | LogQuery): PlacedEntry[] | undefined {
  const { wanted, log = [] } = owner ?? {}
  if ((query.node ?? 0) >= (wanted?.nodes ?? 1 + (wanted?.ha?.replica_count ?? 0))) return undefined
  const matches = newMatch(query)
  const placed = log.map((entry, before) => ({ entry, node: 0, at: String(before + 1) }))
  return placed.filter(({ entry: { timestamp, severity, message: text } }) => {
    return isWithin(Date.parse(timestamp), query) && matches({ severity, text, writer: {} })
  })
}
