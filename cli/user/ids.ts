// Which thing a word means: its id, or its exact name. A word in the form of an id is taken for one; where there is no such id it may
// still be a name, because a name may look like an id.
import type { EndpointName } from '#contract/api.ts'
import type { Client } from '#contract/client.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import { isNotFound } from '#contract/fault.ts'
import { path_ids, type PathIdName } from '#contract/id.ts'
import type { Service } from '#contract/service.ts'
import { CommandError, exit_codes } from '../command.ts'
import { itemsOf } from './output.ts'

type Named = { what: string; list: EndpointName; id: string; names: readonly string[] }

type Things = { readonly [Name in PathIdName]?: Named }

/** How things with names are found. The others are known by their ids only. */
export const named_things: Things = {
  project_id: { what: 'project', list: 'listProjects', id: 'id', names: ['name'] },
  service_id: { what: 'service', list: 'listServices', id: 'service_id', names: ['name'] },
  replica_set_id: { what: 'replica set', list: 'listReplicaSets', id: 'id', names: ['name'] },
  vpc_id: { what: 'VPC', list: 'listVpcs', id: 'id', names: ['name'] },
  user_id: { what: 'member', list: 'listMembers', id: 'user_id', names: ['email', 'name'] },
  public_key: { what: 'token', list: 'listTokens', id: 'public_key', names: ['name'] },
}

const deleted_service: Named = {
  what: 'deleted service',
  list: 'listDeletedServices',
  id: 'service_id',
  names: ['name'],
}

/** Below `deletedServices` the id of a service is that of a deleted service. */
export function thingsOf({ path }: Pick<Endpoint, 'path'>): Things {
  return path.includes('/deletedServices/') ? { ...named_things, service_id: deleted_service } : named_things
}

export type Ids = Readonly<Record<string, string>>
/** A request by the ids that its words meant, and what came of it. */
export type Answered = { ids: Ids; body: Record<string, unknown> | undefined; answer: unknown }
/** made: of the answer. seen: after the last wait. is_kept: whether a file has the password now. */
export type Ended = { made: Service; seen: Service | undefined; is_kept: boolean }

/** The id that the word is, or that of the thing with this name; only a name costs a request. above: the ids that lead to it. */
export async function idOf(
  client: Client,
  name: PathIdName,
  word: string,
  above: Ids,
  things = named_things,
): Promise<string> {
  const has_id_form = new RegExp(path_ids[name].pattern).test(word)
  return has_id_form ? word : await idNamed(client, name, word, above, things)
}

/** Fails where no thing or more than one has the name. */
export async function idNamed(
  client: Client,
  name: PathIdName,
  word: string,
  above: Ids,
  things = named_things,
): Promise<string> {
  const thing = things[name]
  if (thing === undefined) throw notFound(path_ids[name].unknown)
  const items = itemsOf(await anyCall(client, thing.list)({ ...above })) ?? []
  const found = items.filter((item) => item[thing.id] === word || thing.names.some((key) => item[key] === word))
  const ids = found.map((item) => String(item[thing.id]))
  if (ids.length === 1) return ids[0] ?? ''
  if (ids.includes(word)) return word
  if (ids.length === 0) throw notFound(`there is no ${thing.what} ${JSON.stringify(word)}`)
  const message = `${ids.length} ${thing.what}s are called ${JSON.stringify(word)}; say which by its id: ${ids.join(', ')}`
  throw new CommandError(message, { exit_code: exit_codes.refused })
}

/** The ids that the words mean, each by those before it. */
async function resolveIds(client: Client, words: ReadonlyMap<PathIdName, string>, things = named_things): Promise<Ids> {
  const ids: Record<string, string> = {}
  for (const [name, word] of words) ids[name] = await idOf(client, name, word, ids, things)
  return ids
}

/** Calls with the ids that the words mean; where an id is unknown, once more with the words as names. */
export async function withIds<T>(
  client: Client,
  words: ReadonlyMap<PathIdName, string>,
  call: (ids: Ids) => Promise<T>,
  things = named_things,
): Promise<T> {
  const ids = await resolveIds(client, words, things)
  try {
    return await call(ids)
  } catch (error) {
    if (!isNotFound(error)) throw error
    const named = await namesInstead(client, words, ids, things)
    if (named === undefined) throw error
    return await call(named)
  }
}

async function namesInstead(
  client: Client,
  words: ReadonlyMap<PathIdName, string>,
  tried: Ids,
  things: Things,
): Promise<Ids | undefined> {
  const ids: Record<string, string> = {}
  try {
    for (const [name, word] of words) {
      const is_nameless = things[name] === undefined
      ids[name] = is_nameless ? word : await idNamed(client, name, word, ids, things)
    }
  } catch {
    return undefined
  }
  return Object.entries(ids).some(([name, id]) => tried[name] !== id) ? ids : undefined
}

type AnyInput = Record<string, unknown>

/** An endpoint that is known by its name only, at run time. */
export function anyCall(client: Client, name: EndpointName): (input: AnyInput) => Promise<unknown> {
  // The client has a function for every name; what it takes and gives is checked by the server.
  return client[name] as (input: AnyInput) => Promise<unknown>
}

function notFound(message: string): CommandError {
  return new CommandError(message, { exit_code: exit_codes.not_found })
}

/** There is no such thing, by the word of the server or because no name fits. */
export function namesNothing(error: unknown): boolean {
  return isNotFound(error) || (error instanceof CommandError && error.exit_code === exit_codes.not_found)
}
