// The logs of the memory provider: an entry for each change. One page has all of them; a position is the number of entries before it.
import type { LogQuery, Logs, LogTailQuery, PlacedEntry } from '../log.ts'
import { isWithin, newMatch } from '../postgres/log-match.ts'
import type { Thing, Wanted } from './thing.ts'

export const newLogs = (find: (id: string) => Thing<Wanted> | undefined): Logs => ({
  page: async (id, query) => {
    const { node = 0, skip, limit } = query
    if (node >= nodesOf(find(id))) return { refused: 'node' }
    const newest_first = matching(find(id), query).toReversed()
    const placed = newest_first.slice(skip, skip + limit)
    return { entries: placed.map(({ entry }) => entry), placed: () => placed }
  },
  tail: async (id, query) => {
    const { node = 0, after = '0' } = query
    const count = find(id)?.log.length ?? 0
    if (node >= nodesOf(find(id))) return { refused: 'node' }
    if (!/^\d{1,9}$/.test(after) || Number(after) > count) return { refused: 'cursor' }
    return { entries: matching(find(id), query).filter(({ at }) => Number(at) > Number(after)), at: String(count) }
  },
})

const nodesOf = (owner: Thing<Wanted> | undefined) => owner?.wanted.nodes ?? 1 + (owner?.wanted.ha?.replica_count ?? 0)

function matching(owner: Thing<Wanted> | undefined, query: LogTailQuery | LogQuery): PlacedEntry[] {
  const accepts = newMatch(query)
  const placed = (owner?.log ?? []).map((entry, before) => ({ entry, node: 0, at: String(before + 1) }))
  return placed.filter(({ entry: { timestamp, severity, message: text, ...writer } }) => {
    return isWithin(Date.parse(timestamp), query) && accepts({ severity, text, writer })
  })
}
