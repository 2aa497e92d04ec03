// Everything that the console asks of the API: `q` for what is read, `useAct` for what is changed. Keys are the endpoint's name
// and its input; what a change makes stale is in refetch.ts, and what it shows before its answer in guess.ts.
import { QueryClient, queryOptions, useMutation } from '@tanstack/react-query'
import { type Api, base_path, type EndpointName } from '#contract/api.ts'
import { type ClientInput, newClient } from '#contract/client.ts'
import type { OutputOf } from '#contract/endpoint.ts'
import { Fault } from '#contract/fault.ts'
import { takeEarly } from './early.ts'
import { guess, keepGuesses } from './guess.ts'
import { type ActName, type ReadName, staleAfter } from './refetch.ts'
import { version_header } from '#contract/version.ts'
import { noteAnswer, noteVersion, pollInterval } from './polling.ts'
import { holdPasswordOf } from './secret.ts'
import { sessionFetch } from './session.ts'

export const client = newClient({ base_url: base_path, fetch: notedFetch })

type Calls = { [Name in EndpointName]: (input: ClientInput<Name>) => Promise<OutputOf<Api[Name]>> }
const calls: Calls = client

const attempts_max = 3

// Whatever a browser knows of networks: the server may be on the same machine, and an act that waits for a network would be done later,
// when it is not wanted any more.
const networkMode = 'always'

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode,
      refetchOnReconnect: true,
      staleTime: 2_000,
      retry: (count, error) => isPassing(error) && count < attempts_max,
      retryDelay: (count, error) =>
        1000 * (error instanceof Fault ? (error.retry_after_seconds ?? 2 ** count) : 2 ** count),
    },
    mutations: { networkMode, retry: false },
  },
})

keepGuesses(queries)

/** The list of services comes in pages: see service-list.ts. */
export function q<Name extends Exclude<ReadName, 'listServices'>>(name: Name, input: ClientInput<Name>) {
  return queryOptions<OutputOf<Api[Name]>>({
    queryKey: [name, input],
    queryFn: () => calls[name](input),
    refetchInterval: ({ state }) => pollInterval(name, state.data),
  })
}

/** For pages that read on as they are scrolled. */
export const read: Pick<Calls, ReadName> = client

/** A change. The queries that it makes stale are asked again when it is done; the answer is not kept. */
export function useAct<Name extends ActName>(name: Name) {
  return useMutation<OutputOf<Api[Name]>, Error, ClientInput<Name>, ((is_done: boolean) => void) | undefined>({
    mutationKey: [name],
    gcTime: 0,
    mutationFn: async (input) => holdPasswordOf(await calls[name](input)),
    onMutate: (input) => guess(queries, name, input),
    onSettled: async (_output, error, _input, end) => {
      end?.(error === null)
      await refetch(staleAfter[name])
    },
  })
}

export async function refetch(names: readonly ReadName[]): Promise<void> {
  const stale = new Set<string>(names)
  await queries.invalidateQueries({ predicate: ({ queryKey }) => stale.has(String(queryKey[0])) })
}

async function notedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    const response = await (takeEarly(input, init?.method) ?? sessionFetch(input, init))
    noteAnswer(true)
    noteVersion(response.headers.get(version_header))
    return response
  } catch (error) {
    // What the page itself gave up says nothing of the server.
    if (!isGivenUp(error)) noteAnswer(false)
    throw error
  }
}

const isGivenUp = (error: unknown) => error instanceof DOMException && error.name === 'AbortError'

/** What may work in a moment: the server is away, busy, or wants fewer requests. */
function isPassing(error: Error): boolean {
  return error instanceof Fault ? ['UNAVAILABLE', 'RATE_LIMITED'].includes(error.code) : error instanceof TypeError
}
