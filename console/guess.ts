// Changes that are on screen before the server has answered: those of a few words in its store, which it hardly ever refuses. When it
// does, everything is as the server has it, and the act tells the server's message.
import { type InfiniteData, matchQuery, type Query, type QueryClient } from '@tanstack/react-query'
import type { ClientInput } from '#contract/client.ts'
import type { Member } from '#contract/member.ts'
import type { Service } from '#contract/service.ts'
import type { ActName } from './refetch.ts'

/** As the services of a project are kept by their query. `next`: the cursor of the page after it. */
export type ServicePage = { services: readonly Service[]; next: string | undefined }

type Key = readonly unknown[]
/** What an act makes of the data of each query whose key begins so. */
type Edit = { queryKey: Key; edit: (data: unknown) => unknown }
type Guess = readonly Edit[]

const guesses: { [Name in ActName]?: (input: ClientInput<Name>) => Guess } = {
  renameService: (input) => ofService(input, (service) => ({ ...service, name: input.body.name.trim() })),
  setEnvironment: (input) =>
    ofService(input, (service) => ({
      ...service,
      metadata: { ...service.metadata, environment: input.body.environment },
    })),
  setMemberRole: ({ project_id, user_id, body }) => {
    const changed = (member: Member) => (member.user_id === user_id ? { ...member, role: body.role } : member)
    return [editOf<readonly Member[]>(['listMembers', { project_id }], (members) => members.map(changed))]
  },
}

const under_way = new Set<Guess>()
/** The server's last word on each query that shows more than that. */
const told = new Map<Query, unknown>()

/** Shows what the act will have changed; gives back what its end is told to. Undefined for acts whose outcome is waited for. */
export function guess<Name extends ActName>(queries: QueryClient, name: Name, input: ClientInput<Name>) {
  const guessed = guesses[name]?.(input)
  if (guessed === undefined) return undefined
  under_way.add(guessed)
  for (const query of queries.getQueryCache().findAll({ predicate: isGuessed })) {
    if (!told.has(query)) told.set(query, query.state.data)
    show(query)
  }
  return (is_done: boolean) => {
    under_way.delete(guessed)
    for (const [query, data] of told) {
      if (is_done) told.set(query, edited(data, query, guessed))
      show(query)
      if (!isGuessed(query)) told.delete(query)
    }
  }
}

/** An answer that comes while an act is under way does not know of it. */
export function keepGuesses(queries: QueryClient): void {
  queries.getQueryCache().subscribe((event) => {
    const { query } = event
    if (event.type !== 'updated' || event.action.type !== 'success' || event.action.manual === true) return
    if (!isGuessed(query)) return
    told.set(query, query.state.data)
    show(query)
  })
}

const allEdits = () => [...under_way].flat()
const isGuessed = (query: Query) => query.state.data !== undefined && allEdits().some((edit) => matchQuery(edit, query))

function show(query: Query): void {
  const { dataUpdatedAt: updatedAt } = query.state
  query.setData(edited(told.get(query), query, allEdits()), { manual: true, updatedAt })
}

function edited(data: unknown, query: Query, edits: readonly Edit[]): unknown {
  return edits.filter((edit) => matchQuery(edit, query)).reduce((before, { edit }) => edit(before), data)
}

function ofService(
  { project_id, service_id }: { project_id: string; service_id: string },
  edit: (service: Service) => Service,
): Guess {
  const changed = (service: Service) => (service.service_id === service_id ? edit(service) : service)
  return [
    editOf<Service>(['getService', { project_id, service_id }], edit),
    editOf<InfiniteData<ServicePage>>(['listServices', { project_id }], ({ pages, ...more }) => ({
      ...more,
      pages: pages.map(({ services, next }) => ({ services: services.map(changed), next })),
    })),
  ]
}

/** The data of these queries, as query.ts has them. */
function editOf<Data>(queryKey: Key, edit: (data: Data) => Data): Edit {
  return { queryKey, edit: (data) => edit(data as Data) }
}
