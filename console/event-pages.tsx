// The events of a project or of one service, newest first: the newest as they come, and page by page those before them, down to the very
// first.
// An event never changes, so that only the newest are read again. Those that were known stay below them when more come: the first of the
// older ones is always next to the last of the newest.
import { keepPreviousData, queryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { Api } from '#contract/api.ts'
import type { OutputOf } from '#contract/endpoint.ts'
import { events_max, service_event_kinds, type ServiceEventKind } from '#contract/event.ts'
import { Button } from './part/button.tsx'
import { SelectField } from './part/field.tsx'
import { pollInterval } from './polling.ts'
import { queries, read } from './query.ts'

export type ProjectEvent = OutputOf<Api['listProjectEvents']>['entries'][number]

const first_events = 100
/** A page that is open for long begins anew with the newest. */
const known_events_max = 2_000

type Wanted = {
  project_id: string
  /** Empty: of every service. */ service_id: string
  /** Empty, or no kind: of every kind. */ kind: string
}

type Asked = { project_id: string; query: { kinds?: ServiceEventKind[]; service_id?: string } }

export function useEventPages({ project_id, service_id, kind }: Wanted) {
  const kinds = service_event_kinds.filter((one): one is ServiceEventKind => one === kind)
  const asked = { project_id, query: { ...(kinds.length > 0 && { kinds }), ...(service_id !== '' && { service_id }) } }
  const newest = useQuery(newestEvents(asked))
  const before = newest.data?.at(-1)?.id ?? ''
  const older = useInfiniteQuery(olderEvents(asked, before))
  const known = newest.data ?? []
  return {
    events: newest.data && [...known, ...(older.data?.pages.flat() ?? [])],
    error: newest.error ?? older.error,
    onRetry: () => void (newest.error === null ? older.fetchNextPage() : newest.refetch()),
    older: {
      are_there: older.data === undefined ? known.length >= first_events : older.hasNextPage,
      pending: older.isFetching,
      onPress: () => void older.fetchNextPage(),
    },
  }
}

function newestEvents({ project_id, query }: Asked) {
  const queryKey = ['listProjectEvents', { project_id, query }]
  return queryOptions({
    queryKey,
    queryFn: async ({ signal }) => {
      const page = { ...query, limit: first_events }
      const { entries } = await read.listProjectEvents({ project_id, query: page, signal })
      return joined(entries, queries.getQueryData<readonly ProjectEvent[]>(queryKey) ?? [])
    },
    placeholderData: keepPreviousData,
    refetchInterval: () => pollInterval('listProjectEvents', undefined),
  })
}

/** The newest alone, when it is not known what came between. */
function joined(newest: readonly ProjectEvent[], known: readonly ProjectEvent[]): readonly ProjectEvent[] {
  const at = newest.findIndex(({ id }) => id === known[0]?.id)
  return at === -1 || known.length > known_events_max ? newest : [...newest.slice(0, at), ...known]
}

/** Those before that event, read by hand alone. */
function olderEvents({ project_id, query }: Asked, before: string) {
  return {
    queryKey: ['older events', { project_id, query, before }],
    queryFn: async ({ pageParam, signal }: { pageParam: string; signal: AbortSignal }) => {
      const page = { ...query, limit: events_max, before: pageParam }
      return (await read.listProjectEvents({ project_id, query: page, signal })).entries
    },
    initialPageParam: before,
    getNextPageParam: (page: readonly ProjectEvent[]) => (page.length < events_max ? undefined : page.at(-1)?.id),
    enabled: false,
    staleTime: Infinity,
  }
}

type Older = Pick<ReturnType<typeof useEventPages>, 'older'>

export function OlderEvents({ older: { are_there, pending, onPress } }: Older) {
  if (!are_there) return null
  return (
    <div>
      <Button pending={pending} onPress={onPress}>
        Older events
      </Button>
    </div>
  )
}

export function KindField({ kind, onChange }: { kind: string; onChange: (kind: string) => void }) {
  const options = service_event_kinds.map((value) => ({ value, label: value }))
  return (
    <SelectField
      label="Kind"
      value={kind}
      options={[{ value: '', label: 'Every kind' }, ...options]}
      onChange={onChange}
    />
  )
}
