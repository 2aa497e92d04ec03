// Changes that are on screen before the server has answered: those of a few words in its store, which it hardly ever refuses. When it
// does, everything is as it was before, and the act tells the server's message.
import type { InfiniteData, Query, QueryClient } from '@tanstack/react-query'
import type { ClientInput } from '#contract/client.ts'
import type { Member } from '#contract/member.ts'
import type { Service } from '#contract/service.ts'
import type { ActName } from './refetch.ts'

/** As the services of a project are kept by their query. `next`: the cursor of the page after it. */
export type ServicePage = { services: readonly Service[]; next: string | undefined }

type Edit<Data> = (data: Data) => Data
type Key = readonly unknown[]
/** The queries that show it, by their names and input, and how each looks after it. */
type Guess = { keys: readonly Key[]; apply: (queries: QueryClient) => void }

const guesses: { [Name in ActName]?: (input: ClientInput<Name>) => Guess } = {
  renameService: (input) => ofService(input, (service) => ({ ...service, name: input.body.name.trim() })),
  setEnvironment: (input) =>
    ofService(input, (service) => ({
      ...service,
      metadata: { ...service.metadata, environment: input.body.environment },
    })),
  setMemberRole: ({ project_id, user_id, body }) => {
    const key = ['listMembers', { project_id }]
    const edit = (member: Member) => (member.user_id === user_id ? { ...member, role: body.role } : member)
    return { keys: [key], apply: (queries) => change<readonly Member[]>(queries, key, (members) => members.map(edit)) }
  },
}

/** Shows what the act will have changed; gives back how to take that back. Undefined for acts whose outcome is waited for. */
export async function guess<Name extends ActName>(queries: QueryClient, name: Name, input: ClientInput<Name>) {
  const guessed = guesses[name]?.(input)
  if (guessed === undefined) return undefined
  const shows = ({ state }: Query) => state.data !== undefined
  // An answer that is on its way does not know of it.
  for (const queryKey of guessed.keys) await queries.cancelQueries({ queryKey, predicate: shows })
  const before = guessed.keys.flatMap((queryKey) => queries.getQueriesData({ queryKey }))
  guessed.apply(queries)
  return () => {
    for (const [key, data] of before) queries.setQueryData(key, data)
  }
}

function ofService({ project_id, service_id }: { project_id: string; service_id: string }, edit: Edit<Service>): Guess {
  const one = ['getService', { project_id, service_id }]
  const list = ['listServices', { project_id }]
  const edited = (service: Service) => (service.service_id === service_id ? edit(service) : service)
  return {
    keys: [one, list],
    apply: (queries) => {
      change<Service>(queries, one, edited)
      change<InfiniteData<ServicePage>>(queries, list, ({ pages, ...more }) => ({
        ...more,
        pages: pages.map(({ services, next }) => ({ services: services.map(edited), next })),
      }))
    },
  }
}

function change<Data>(queries: QueryClient, queryKey: Key, edit: Edit<Data>): void {
  queries.setQueriesData<Data>({ queryKey }, (data) => data && edit(data))
}
