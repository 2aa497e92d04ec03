// The entries on screen: pages from the newest back, and above them what has come since. An entry that comes while the reader is
// further down waits, so that nothing moves under the eyes.
import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { log_page_entries_max, type LogEntry } from '#contract/log.ts'
import { followed, hiddenFor, visible } from '../follow.ts'
import { read } from '../query.ts'
import type { Search } from '../search.ts'
import { isCustom, queryOf } from './query.ts'

/** More are not held: the browser would feel them. */
const entries_max = 5_000
const batch_ms = 150

type Place = { project_id: string; service_id: string }

export function useEntries(place: Place, view: Search, live: boolean) {
  const [at_top, setAtTop] = useState(true)
  const pages = useInfiniteQuery({
    queryKey: ['getServiceLogs', place.service_id, { ...view, live: '', entry: '' }],
    // With every letter of a text there is another question, and nothing waits for the answer to the one before.
    queryFn: ({ pageParam, signal }) =>
      readLogs(place, view, { ...queryOf(view), ...(pageParam !== '' && { cursor: pageParam }) }, signal),
    initialPageParam: '',
    getNextPageParam: (last, all) => (all.length * log_page_entries_max >= entries_max ? undefined : last.last_cursor),
    refetchOnWindowFocus: false,
  })
  const older = useMemo(() => pages.data?.pages.flatMap((page) => page.entries ?? []) ?? [], [pages.data])
  // What is newest is not at the place where something was told last: entries of one moment are sorted by their times.
  const newest = older[0]?.id
  const is_read = pages.data !== undefined && !isCustom(view)
  const { newer, waiting, show } = useTail({ place, view, from: newest, enabled: live && is_read, at_top })
  const entries = useMemo(() => {
    const known = new Set(older.map(({ id }) => id))
    return [...newer.filter(({ id }) => !known.has(id)), ...older].slice(0, entries_max)
  }, [newer, older])
  return { pages, entries, waiting, show, setAtTop }
}

/** Of the service, or of the set that the address names. */
export function readLogs(
  place: Place,
  { set = '' }: Search,
  query: ReturnType<typeof queryOf> & { cursor?: string },
  signal?: AbortSignal,
) {
  const asked = { ...place, query, ...(signal && { signal }) }
  return set === '' ? read.getServiceLogs(asked) : read.getReplicaSetLogs({ ...asked, replica_set_id: set })
}

type TailParts = { place: Place; view: Search; from: string | undefined; enabled: boolean; at_top: boolean }

function useTail({ place, view, from, enabled, at_top }: TailParts) {
  const [come, setCome] = useState<readonly LogEntry[]>([])
  const [shown, setShown] = useState(0)
  const { project_id, service_id } = place
  const key = JSON.stringify({ ...view, live: '', entry: '' })
  useEffect(() => {
    setCome([])
    setShown(0)
    if (!enabled) return undefined
    const end = new AbortController()
    void follow({ project_id, service_id }, view, from, end.signal, (entries) =>
      setCome((before) => [...entries.toReversed(), ...before].slice(0, entries_max)),
    )
    return () => end.abort()
    // The view by its text: the object is a new one with every look at the address.
  }, [project_id, service_id, key, enabled, from])
  useEffect(() => {
    if (at_top) setShown(come.length)
  }, [at_top, come.length])
  const waiting = Math.max(0, come.length - shown)
  const newer = useMemo(() => come.slice(waiting), [come, waiting])
  return { newer, waiting, show: () => setShown(come.length) }
}

/** While the tab is seen; entries come in bundles, so that a busy log does not draw the page for each. */
async function follow(
  place: Place,
  view: Search,
  from: string | undefined,
  signal: AbortSignal,
  onEntries: (entries: readonly LogEntry[]) => void,
): Promise<void> {
  let after = from
  let held: LogEntry[] = []
  let due: ReturnType<typeof setTimeout> | undefined
  const flush = () => {
    due = undefined
    if (!signal.aborted) onEntries(held)
    held = []
  }
  const { since: _since, ...query } = queryOf(view)
  while (!signal.aborted) {
    await visible(signal)
    const hidden = hiddenFor(0)
    const ends = AbortSignal.any([signal, hidden.signal])
    const set = view['set'] ?? ''
    const following = { after, signal: ends, onState: () => undefined }
    const entries =
      set === ''
        ? followed('getServiceLogs', { ...following, input: { ...place, query } })
        : followed('getReplicaSetLogs', { ...following, input: { ...place, query, replica_set_id: set } })
    for await (const entry of entries) {
      after = entry.id ?? after
      held.push(entry)
      due ??= setTimeout(flush, batch_ms)
    }
    hidden.stop()
  }
}
