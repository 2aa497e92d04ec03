// The events of a project or of one service, newest first and page by page down to the very first. All pages that are on screen are read
// again when something has happened.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import type { Api } from '#contract/api.ts'
import type { OutputOf } from '#contract/endpoint.ts'
import { events_max, service_event_kinds, type ServiceEventKind } from '#contract/event.ts'
import { Button } from './part/button.tsx'
import { SelectField } from './part/field.tsx'
import { pollInterval } from './polling.ts'
import { read } from './query.ts'

export type ProjectEvent = OutputOf<Api['listProjectEvents']>['entries'][number]

const first_events = 100

type Wanted = {
  project_id: string
  /** Empty: of every service. */ service_id: string
  /** Empty, or no kind: of every kind. */ kind: string
}

export function useEventPages({ project_id, service_id, kind }: Wanted) {
  const kinds = service_event_kinds.filter((one): one is ServiceEventKind => one === kind)
  const query = { ...(kinds.length > 0 && { kinds }), ...(service_id !== '' && { service_id }) }
  const pages = useInfiniteQuery({
    queryKey: ['listProjectEvents', { project_id, query }],
    queryFn: async ({ pageParam: before, signal }) => {
      const limit = before === '' ? first_events : events_max
      const page = { ...query, limit, ...(before !== '' && { before }) }
      const { entries } = await read.listProjectEvents({ project_id, query: page, signal })
      return { entries, oldest: entries.length < limit ? undefined : entries.at(-1)?.id }
    },
    initialPageParam: '',
    getNextPageParam: ({ oldest }) => oldest,
    placeholderData: keepPreviousData,
    refetchInterval: () => pollInterval('listProjectEvents', undefined),
  })
  return { pages, events: pages.data?.pages.flatMap(({ entries }) => entries) }
}

export function OlderEvents({ pages }: Pick<ReturnType<typeof useEventPages>, 'pages'>) {
  if (!pages.hasNextPage) return null
  return (
    <div>
      <Button pending={pages.isFetchingNextPage} onPress={() => void pages.fetchNextPage()}>
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
