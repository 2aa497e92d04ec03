// What clients call an endpoint and what a call of it does, derived from its row: no client keeps a list of its own. Pure.
// A path that ends in an id is `<noun> get|delete`, in a collection `<noun> list|create`, in a word `<noun> <word>`; the
// noun is the nearest collection before an id.
import { api } from './api.ts'
import type { Effect, Endpoint } from './endpoint.ts'

export type Command = { noun: string; verb: string }

type Place = Pick<Endpoint, 'method' | 'path'>

export function commandOf({ method, path }: Place): Command {
  const segments = segmentsOf(path)
  const last = segments.at(-1) ?? ''
  if (isId(last)) return { noun: nounOf(segments.at(-2)), verb: method === 'DELETE' ? 'delete' : 'get' }
  if (isCollection(path)) return { noun: nounOf(last), verb: method === 'POST' ? 'create' : 'list' }
  const begin = segments.findLastIndex(isId)
  const noun = begin === -1 ? kebabOf(segments[0]?.split('.')[0]) : nounOf(segments[begin - 1])
  const words = segments.slice(begin === -1 ? 1 : begin + 1).map(kebabOf)
  // A document of its own, such as /ca.pem, has nothing behind its name.
  return { noun, verb: words.length === 0 ? 'get' : words.join('-').replace(new RegExp(`-${noun}$`), '') }
}

/** By the method, unless the row says otherwise: a POST to a collection adds to it. */
export function effectOf({ effect, method, path }: Place & Pick<Endpoint, 'effect'>): Effect {
  if (effect !== undefined) return effect
  if (method === 'GET') return 'read'
  if (method === 'DELETE') return 'remove'
  return isCollection(path) ? 'add' : 'change'
}

/** The paths that have ids right below them: `/projects/{}/peerings` gathers what lies below VPCs, and has none. */
const collections: ReadonlySet<string> = new Set(
  Object.values<Endpoint>(api).flatMap(({ path }) =>
    [...path.matchAll(/\/\{/g)].map(({ index }) => namelessOf(path.slice(0, index))),
  ),
)

function isCollection(path: string): boolean {
  return collections.has(namelessOf(path))
}

function namelessOf(path: string): string {
  return path.replaceAll(/\{\w+\}/g, '{}')
}

function isId(segment: string): boolean {
  return segment.startsWith('{')
}

function segmentsOf(path: string): string[] {
  return path.split('/').slice(1)
}

function nounOf(collection = ''): string {
  return kebabOf(collection).replace(/s$/, '')
}

/** `setHA` → `set-ha`, `attachToVPC` → `attach-to-vpc`. */
function kebabOf(name = ''): string {
  return name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase()
}
