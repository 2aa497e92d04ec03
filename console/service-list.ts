// The services of a project, read page by page: the first is on screen at once, and the others follow by themselves. Filters and sorting
// are over all that are there.
import { infiniteQueryOptions, useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import type { Service } from '#contract/service.ts'
import type { ServicePage } from './guess.ts'
import { services_per_page } from './early.ts'
import { pollInterval } from './polling.ts'
import { queries, read } from './query.ts'

const none: readonly Service[] = []

export function servicePages(project_id: string) {
  return infiniteQueryOptions({
    queryKey: ['listServices', { project_id }],
    queryFn: ({ pageParam, signal }) => readPage(project_id, pageParam, signal),
    initialPageParam: '',
    getNextPageParam: ({ next }: ServicePage) => next,
    refetchInterval: ({ state }) => pollInterval('listServices', state.data && servicesIn(state.data.pages)),
  })
}

async function readPage(project_id: string, cursor: string, signal: AbortSignal): Promise<ServicePage> {
  let next: string | undefined
  const query = { limit: services_per_page, ...(cursor !== '' && { cursor }) }
  const onNextCursor = (found: string) => (next = found)
  const services = await read.listServices({ project_id, query, signal, onNextCursor })
  return { services, next }
}

/** Those that are there by now; undefined: of no project. */
export function useServices(project_id: string | undefined): readonly Service[] {
  const enabled = project_id !== undefined
  const { data, hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = useInfiniteQuery({
    ...servicePages(project_id ?? ''),
    enabled,
  })
  const is_next_due = hasNextPage && !isFetching && !isFetchNextPageError
  useEffect(() => {
    if (is_next_due) void fetchNextPage()
  }, [is_next_due, fetchNextPage])
  return useMemo(() => (data === undefined ? none : servicesIn(data.pages)), [data])
}

/** What a list has told of a service already, for the first sight of its page. */
export function listedService(project_id: string, service_id: string) {
  const { queryKey } = servicePages(project_id)
  const pages = queries.getQueryData(queryKey)?.pages ?? []
  const initialData = servicesIn(pages).find((service) => service.service_id === service_id)
  return initialData && { initialData, initialDataUpdatedAt: queries.getQueryState(queryKey)?.dataUpdatedAt ?? 0 }
}

const servicesIn = (pages: readonly ServicePage[]) => pages.flatMap(({ services }) => services)
