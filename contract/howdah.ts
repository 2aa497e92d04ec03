// The client for programs: the API as objects. Collections have verbs, and so have the items in their answers; both follow from the table
// by the rules of verbs.ts, so an endpoint that is added has its function at once.
// 1. A verb that starts work answers when it is done, unless `wait: false`. 2. Nothing is repeated unless `retries` is set. 3. It runs
//    wherever fetch does: nothing of one platform is imported.
import { api, base_path, type EndpointName, type StreamName } from './api.ts'
import { type Client, newClient } from './client.ts'
import { createBody, forkBody } from './duration.ts'
import type { Endpoint } from './endpoint.ts'
import { isNotFound } from './fault.ts'
import { followedPlace, latestOf, resumed, settle } from './follow.ts'
import type { Howdah, Manner, Temporary, TemporaryGiven } from './howdah-type.ts'
import { newKey, retrying } from './retry.ts'
import { Service } from './service.ts'
import { version, withVersionWatch } from './version.ts'
import { camelOf, collectionsBelow, homes } from './verbs.ts'

export { Fault } from './fault.ts'
export { NoAnswerError } from './retry.ts'
export type * from './howdah-type.ts'
export type { Service } from './service.ts'
export type { Snapshot } from './snapshot.ts'

export type HowdahOptions = {
  /** Left out: HOWDAH_SERVER. */
  server?: string
  /** Left out: HOWDAH_TOKEN. A function is asked before each request. */
  token?: string | (() => string | Promise<string>)
  /** The id of a project; by default HOWDAH_PROJECT, or the only project that the token opens. */
  project?: string
  /** Repeat reads, and requests that make a service: these with a key, so that there is one service only. */
  retries?: boolean
  fetch?: typeof globalThis.fetch
  /** Gets a sentence, once, when the server is older than this client; by default a line on the console. */
  warn?: (sentence: string) => void
}

const { console: lines } = globalThis
const warnOnConsole = (sentence: string) => lines.warn(sentence)

/** Of a temporary database whose program is killed before it can delete it. */
const temporary_time = '2h'
const project_home = '/projects/{project_id}'
const services_home = '/projects/{project_id}/services'

/** What callers may write more briefly than the API has it. */
const bodies: { [Name in EndpointName]?: (given: Answer) => Answer } = {
  createService: (given) => createBody(given, new Date()),
  forkService: (given) => forkBody(given, new Date()),
}

type Ids = Readonly<Record<string, string>>
type Around = { client: Client; has_retries: boolean; ids: () => Promise<Ids> }
type Verb = (...given: unknown[]) => unknown
type Answer = Record<string, unknown>

export function newHowdah(options: HowdahOptions = {}): Howdah {
  const server = options.server ?? fromEnvironment('SERVER')
  if (server === undefined) throw new TypeError('say which server: newHowdah({ server }), or HOWDAH_SERVER')
  if (!/^https?:/i.test(server) || !URL.canParse(server)) {
    throw new TypeError(`the server must be a URL such as http://127.0.0.1:8080, not ${JSON.stringify(server)}`)
  }
  const has_retries = options.retries === true
  const { fetch: given_fetch = globalThis.fetch, warn = warnOnConsole } = options
  const send = withVersionWatch(given_fetch, version, (theirs) =>
    warn(`@howdah/client ${version}: the server is older (${theirs}) and may not know every function`),
  )
  const client = newClient({
    base_url: new URL(server).origin + base_path,
    token: options.token ?? fromEnvironment('TOKEN'),
    fetch: has_retries ? retrying(send) : send,
  })
  let known = options.project ?? fromEnvironment('PROJECT')
  const project_id = async () => (known ??= await onlyProject(client))
  const everywhere = { client, has_retries, ids: async () => ({}) }
  const in_project = { client, has_retries, ids: async () => ({ project_id: await project_id() }) }
  const words = [...homes.keys()].filter((path) => !path.includes('{') && !collectionsBelow('').includes(path))
  const root = {
    ...collectionsAt('', everywhere),
    ...collectionsAt(project_home, in_project),
    ...Object.fromEntries(words.map((path) => [camelOf(path.slice(1)), verbsAt(path, everywhere)])),
    project: verbsAt(project_home, in_project),
    client,
  }
  // The rows of the table give both the names and the types.
  return root as unknown as Howdah
}

/** Where there is an environment. */
function fromEnvironment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  return process?.env?.[`HOWDAH_${name}`] || undefined
}

async function onlyProject(client: Client): Promise<string> {
  const [only, another] = await client.listProjects({})
  if (only !== undefined && another === undefined) return only.id
  throw new TypeError('say which project: newHowdah({ project }), or HOWDAH_PROJECT')
}

function collectionsAt(home: string, around: Around): Record<string, unknown> {
  return Object.fromEntries(
    collectionsBelow(home).map((path) => [camelOf(path.slice(home.length + 1)), collectionAt(path, around)]),
  )
}

function collectionAt(path: string, around: Around): Record<string, unknown> {
  const temporary = (given: TemporaryGiven = {}) => newTemporary(path, around, given)
  return {
    ...verbsAt(path, around),
    at: (id: string) => itemAt(path, around, id),
    ...(path === services_home && { temporary }),
  }
}

/** The verbs of one item; collection: of which it is one. */
function itemAt(collection: string, around: Around, id: string): Record<string, unknown> {
  const { home = '', id_name = '' } = itemHomeOf(collection) ?? {}
  const here = { ...around, ids: async () => ({ ...(await around.ids()), [id_name]: id }) }
  return {
    ...verbsAt(home, here),
    ...collectionsAt(home, here),
    ...(collection === services_home && { settled: (manner: Manner = {}) => settledService(here, id, manner) }),
  }
}

function itemHomeOf(collection: string): { home: string; id_name: string } | undefined {
  const home = [...homes.keys()].find(
    (path) => path.startsWith(`${collection}/{`) && path.indexOf('}', collection.length) === path.length - 1,
  )
  return home === undefined ? undefined : { home, id_name: home.slice(collection.length + 2, -1) }
}

function verbsAt(home: string, around: Around): Record<string, Verb> {
  const verbs = [...(homes.get(home) ?? [])].map(([verb, name]) => [verb, verbFor(home, name, around)] as const)
  return Object.fromEntries(verbs)
}

function verbFor(home: string, name: EndpointName, around: Around): Verb {
  const endpoint: Endpoint = api[name]
  const member = endpoint.body !== undefined ? 'body' : endpoint.query !== undefined ? 'query' : undefined
  return (...words) => {
    // The types of the verbs say what is there; the server checks it.
    const [given = {}, manner = {}] = (member === undefined ? [undefined, ...words] : words) as [Answer?, Manner?]
    const { follow, ...others } = given
    if (endpoint.streams === true && follow === true) return entriesOf(around, name as StreamName, others, manner)
    const sent = bodies[name]?.(others) ?? others
    return run(home, name, around, member === undefined ? {} : { [member]: sent }, manner)
  }
}

async function* entriesOf(around: Around, name: StreamName, query: Answer, manner: Manner): AsyncGenerator {
  const { signal } = manner
  const input = { ...(await around.ids()), query, ...(signal && { signal }) }
  for await (const { entry } of resumed(around.client, name, input as never)) yield entry
}

async function run(home: string, name: EndpointName, around: Around, given: object, manner: Manner): Promise<unknown> {
  const endpoint: Endpoint = api[name]
  const { client, has_retries } = around
  const { wait = true, signal } = manner
  const ids = await around.ids()
  const idempotency_key = manner.idempotency_key ?? (has_retries && endpoint.idempotent ? newKey() : undefined)
  const input = { ...ids, ...given, ...(signal && { signal }), ...(idempotency_key && { idempotency_key }) }
  // A name that is known at run time only.
  const answer = await (client[name] as (input: unknown) => Promise<unknown>)(input)
  const place = wait ? followedPlace(endpoint, ids, answer) : undefined
  const seen = place && (await settle(client, endpoint, place, manner))
  return withVerbs(home, endpoint, around, await latestOf(client, endpoint, ids, answer, seen))
}

async function settledService(around: Around, service_id: string, manner: Manner): Promise<unknown> {
  const { project_id = '' } = await around.ids()
  const seen = await settle(around.client, api.startService, { project_id, service_id }, manner)
  return withVerbs(services_home, api.getService, around, seen)
}

/** What lives in a collection, and every service. */
function withVerbs(home: string, { path, output }: Endpoint, around: Around, answer: unknown): unknown {
  const own = path === home ? home.replace(/\/\{\w+\}$/, '') : undefined
  const collection = output === Service ? services_home : own
  if (collection === undefined || itemHomeOf(collection) === undefined) return answer
  if (Array.isArray(answer)) return answer.map((one) => bound(collection, around, one))
  return typeof answer === 'object' ? bound(collection, around, answer) : answer
}

function bound(collection: string, around: Around, answer: object | null): unknown {
  const { id_name } = itemHomeOf(collection) ?? { id_name: 'id' }
  const { [id_name]: own_id, id = own_id } = { ...answer } as Answer
  const verbs = Object.entries(itemAt(collection, around, String(own_id ?? id)))
  return Object.defineProperties(
    { ...answer },
    Object.fromEntries(verbs.map(([verb, value]) => [verb, { value, configurable: true, writable: true }])),
  )
}

/** Deleted when its scope ends, unless it was deleted before. */
async function newTemporary(path: string, around: Around, { from, ...given }: TemporaryGiven): Promise<Temporary> {
  const name = given.name ?? `temporary-${newKey().slice(0, 8)}`
  const parent_id = typeof from === 'object' ? from.service_id : from
  const { create } = verbsAt(path, around)
  const { fork } =
    parent_id === undefined ? { fork: create } : (itemAt(path, around, parent_id) as Record<string, Verb>)
  const made = (await fork?.({ expires_in: temporary_time, ...given, name })) as Temporary
  const dispose = () =>
    made.delete({ wait: false }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error
    })
  return Object.defineProperty(made, Symbol.asyncDispose, { value: dispose })
}
