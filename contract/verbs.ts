// Where clients that are objects find an endpoint: its home is a collection, one item of it, or a word of its own such as `auth`; its verb
// is that of commandOf, in camel case. The types say of each endpoint what the functions say of it, which a test compares. Pure.
import { api, type Api, type EndpointName } from './api.ts'
import { commandOf } from './command.ts'
import type { Endpoint } from './endpoint.ts'

/** A prefix of the path: up to a collection, up to an id, or its first word. */
export function homeOf({ path }: Pick<Endpoint, 'path'>): string {
  if (path.endsWith('}') || isCollection(path)) return path
  const id_end = path.lastIndexOf('}')
  return id_end === -1 ? (/^\/\w+/.exec(path)?.[0] ?? path) : path.slice(0, id_end + 1)
}

export function verbOf(endpoint: Pick<Endpoint, 'method' | 'path'>): string {
  return camelOf(commandOf(endpoint).verb)
}

/** `set-ha` → `setHa`. */
export function camelOf(kebab: string): string {
  return kebab.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

// Object.keys forgets the names that the table's type has.
const names = Object.keys(api) as EndpointName[]

/** The verbs of each home. */
export const homes: ReadonlyMap<string, ReadonlyMap<string, EndpointName>> = new Map(
  [...new Set(names.map((name) => homeOf(api[name])))].map((path) => {
    const own = names.filter((name) => homeOf(api[name]) === path)
    return [path, new Map(own.map((name) => [verbOf(api[name]), name] as const))]
  }),
)

/** The paths of the collections right below a home. */
export function collectionsBelow(home: string): string[] {
  return [...homes.keys()].filter((path) => isCollection(path) && path.slice(0, path.lastIndexOf('/')) === home)
}

function isCollection(path: string): boolean {
  return names.some((name) => api[name].path.startsWith(`${path}/{`))
}

type Path = Api[EndpointName]['path']

/** Paths that have an id right below them in some path. */
export type CollectionPath = CollectionsIn<Path>
type CollectionsIn<P extends string, Before extends string = ''> = P extends `${infer Head}/{${infer Id}}${infer Rest}`
  ? `${Before}${Head}` | CollectionsIn<Rest, `${Before}${Head}/{${Id}}`>
  : never

/** The path of one item of a collection. */
export type ItemPath<C extends string> = ItemOf<C, ItemsIn<Path>>
type ItemOf<C extends string, P extends string> = P extends `${C}/{${infer Id}}`
  ? Id extends `${string}}${string}`
    ? never
    : P
  : never
type ItemsIn<P extends string, Before extends string = ''> = P extends `${infer Head}/{${infer Id}}${infer Rest}`
  ? `${Before}${Head}/{${Id}}` | ItemsIn<Rest, `${Before}${Head}/{${Id}}`>
  : never

/** Those right below a home: without another id or slash in between. */
export type CollectionBelow<Of extends string> = {
  [C in CollectionPath]: C extends `${Of}/${infer Word}` ? (Word extends `${string}/${string}` ? never : C) : never
}[CollectionPath]

export type LastWord<P extends string> = P extends `${string}/${infer Rest}` ? LastWord<Rest> : P

/** The verb of an endpoint at a home; never where it lives at another one. */
export type VerbAt<Of extends string, E extends Pick<Endpoint, 'method' | 'path'>> = E['path'] extends Of
  ? VerbHere<Of, E['method']>
  : E['path'] extends `${Of}/${infer Words}`
    ? Words extends `${string}{${string}`
      ? never
      : E['path'] extends CollectionPath
        ? never
        : Camel<WithoutNoun<Words, NounOf<Of>>>
    : never

type VerbHere<Of extends string, Method extends string> = Of extends CollectionPath
  ? Method extends 'POST'
    ? 'create'
    : 'list'
  : Method extends 'DELETE'
    ? 'delete'
    : 'get'

/** Of an item: `/projects/{project_id}/services/{service_id}` → `Service`. */
type NounOf<Of extends string, Before extends string = ''> = Of extends `/${infer Head}/${infer Rest}`
  ? NounOf<`/${Rest}`, Head>
  : Before extends `${infer Noun}s`
    ? Capitalize<Noun>
    : never

type WithoutNoun<Words extends string, Noun extends string> = [Noun] extends [never]
  ? Words
  : Words extends `${infer Verb}${Noun}`
    ? Verb
    : Words

/** `setHA` → `setHa`, `metrics/available-series` → `metricsAvailableSeries`. */
export type Camel<
  Text extends string,
  After extends 'lower' | 'upper' | 'gap' = 'lower',
> = Text extends `${infer C}${infer Rest}`
  ? C extends '-' | '/'
    ? Camel<Rest, 'gap'>
    : After extends 'gap'
      ? `${Uppercase<C>}${Camel<Rest>}`
      : C extends Lowercase<C>
        ? `${C}${Camel<Rest>}`
        : `${After extends 'upper' ? Lowercase<C> : C}${Camel<Rest, 'upper'>}`
  : ''

/** Endpoints outside of every collection: `/auth/info` is `info` of `auth`, `/ca.pem` is `get` of `ca`. */
export type Word = {
  [P in Path]: P extends CollectionPath | `${string}{${string}`
    ? never
    : P extends `/${infer W}/${string}` | `/${infer W}.${string}`
      ? W
      : P extends `/${infer W}`
        ? W
        : never
}[Path]

export type VerbOfWord<W extends Word, P extends string> = P extends `/${W}/${infer Verb}`
  ? Verb
  : P extends `/${W}` | `/${W}.${string}`
    ? 'get'
    : never
