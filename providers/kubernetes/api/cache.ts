// What exists in a cell, held in memory and kept true by one list-and-watch for each kind.
// 1. An object is replaced by a newer one only, also by another one of its name: by its resource version, which the API server counts up.
// 2. What the provider has just written is here at once, so a pass never decides on a state before its own write.
// 3. A watch that ends, is cut or is told 410 begins anew; with a new list when the API server does not know the old place.
import { setTimeout as pause } from 'node:timers/promises'
import { ApiError, isStatus } from './errors.ts'
import { newGroups } from './groups.ts'
import type { Client, Listing, Selection } from './client.ts'
import { type Ref, type Thing, type Watched, type WatchedKind, whole_kinds } from './kinds.ts'

export type Cache = ReturnType<typeof openCache>

const usual_kinds = [
  'Namespace',
  'Secret',
  'Service',
  'PersistentVolumeClaim',
  'Pod',
  'Deployment',
  'Cluster',
  'NetworkPolicy',
] as const satisfies readonly WatchedKind[]
/** The second of them is there where the plugin is installed. */
const store_kinds = ['Backup', 'ObjectStore'] as const satisfies readonly WatchedKind[]

/** A new list now and then, in case an event was lost. */
const relist_ms = 30 * 60_000
const retry_ms = 1_000

type Spec = {
  client: Pick<Client, 'list' | 'watch'>
  label_selector: string
  /** Whose value says to which owner an object belongs. */
  owner_label: string
  /** Whether the region keeps snapshots. */
  has_store: boolean
  log: (fact: object, message: string) => void
}

export function openCache(spec: Spec) {
  const closing = new AbortController()
  const listed = new Set<WatchedKind>()
  const kinds_watched: readonly WatchedKind[] = spec.has_store ? [...usual_kinds, ...store_kinds] : usual_kinds
  const held = newHeld(kinds_watched, spec.owner_label)
  const following = kinds_watched.map((kind) => follow(spec, kind, held, listed, closing.signal))
  return {
    /** False: not everything was read yet. */
    isWhole: () => listed.size === kinds_watched.length,
    missing: () => kinds_watched.filter((kind) => !listed.has(kind)),
    find: <K extends WatchedKind>(kind: K, { namespace, name }: Pick<Ref, 'namespace' | 'name'>) =>
      // The kind says the form: the API server keeps to it.
      held.of(kind).get(keyOf({ namespace, name })) as Watched[K] | undefined,
    list: <K extends WatchedKind>(kind: K): readonly Watched[K][] =>
      // As above.
      [...held.of(kind).values()] as Watched[K][],
    listOf: <K extends WatchedKind>(kind: K, owner: string): readonly Watched[K][] =>
      // As above.
      held.ofOwner(kind, owner) as Watched[K][],
    /** What the API server answered to a write. */
    saw: (thing: Thing) => {
      const kind = kinds_watched.find((one) => one === thing.kind)
      if (kind) held.note(kind, thing)
    },
    onChange: held.onChange,
    close: async (): Promise<void> => {
      closing.abort()
      await Promise.all(following)
    },
  }
}

type Held = ReturnType<typeof newHeld>

function newHeld(kinds_watched: readonly WatchedKind[], owner_label: string) {
  const things = new Map<WatchedKind, Map<string, Thing>>(kinds_watched.map((kind) => [kind, new Map()]))
  const owned = new Map(kinds_watched.map((kind) => [kind, newGroups(owner_label)]))
  /** Removed lately, by uid: an answer to an earlier question must not bring them back. */
  const removed = new Set<string>()
  const listeners: ((thing: Thing, kind: WatchedKind) => void)[] = []
  const of = (kind: WatchedKind) => things.get(kind) ?? new Map<string, Thing>()
  const tell = (thing: Thing, kind: WatchedKind) => {
    for (const listener of listeners) listener(thing, kind)
  }
  /** Whether it is news. */
  const put = (kind: WatchedKind, thing: Thing): boolean => {
    const { uid = '' } = thing.metadata
    const known = of(kind).get(keyOf(thing.metadata))
    if (removed.has(uid) || (known !== undefined && versionOf(known) >= versionOf(thing))) return false
    const key = keyOf(thing.metadata)
    const projection = projectionOf(kind, thing)
    owned.get(kind)?.replace(key, known, projection)
    of(kind).set(key, projection)
    return true
  }
  const note = (kind: WatchedKind, thing: Thing): void => {
    if (put(kind, thing)) tell(thing, kind)
  }
  const drop = (kind: WatchedKind, thing: Thing): void => {
    const { uid = '' } = thing.metadata
    const key = keyOf(thing.metadata)
    const known = of(kind).get(key)
    if (known?.metadata.uid === uid) {
      owned.get(kind)?.remove(key, known)
      of(kind).delete(key)
    }
    removed.add(uid)
    const [oldest = ''] = removed
    if (removed.size > removed_max) removed.delete(oldest)
    tell(thing, kind)
  }
  /** `is_first`: nothing has changed, it was only not known. The server makes a pass over everything when it starts. */
  const replaceAll = (kind: WatchedKind, { items, resource_version }: Listing, is_first: boolean): void => {
    const there = new Set(items.map(({ metadata }) => keyOf(metadata)))
    for (const [key, thing] of of(kind)) {
      // A write after the list was made is newer than it.
      if (!there.has(key) && versionOf(thing) <= Number(resource_version)) drop(kind, thing)
    }
    for (const thing of items) if (put(kind, thing) && !is_first) tell(thing, kind)
  }
  const onChange = (listener: (typeof listeners)[number]) => void listeners.push(listener)
  const ofOwner = (kind: WatchedKind, owner: string) => owned.get(kind)?.of(owner) ?? []
  return { of, ofOwner, note, drop, replaceAll, onChange }
}

/** Where a watch goes on. */
type Place = { version: string; listed_ms: number }

async function follow(
  { client, label_selector, log }: Spec,
  kind: WatchedKind,
  held: Held,
  listed: Set<WatchedKind>,
  signal: AbortSignal,
): Promise<void> {
  const selection: Selection = { kind, label_selector, only_metadata: !whole_kinds.includes(kind) }
  let place: Place | undefined
  const list = async (): Promise<Place> => {
    const listing = await client.list(selection)
    held.replaceAll(kind, listing, !listed.has(kind))
    listed.add(kind)
    return { version: listing.resource_version, listed_ms: performance.now() }
  }
  while (!signal.aborted) {
    try {
      if (place === undefined || performance.now() - place.listed_ms > relist_ms) place = await list()
      const begun_ms = performance.now()
      for await (const { type, object } of client.watch(selection, place.version, signal)) {
        if (type === 'ERROR') throw new ApiError(410, 'Expired', 'the watch cannot go on')
        place.version = object.metadata.resourceVersion ?? place.version
        if (type === 'DELETED') held.drop(kind, object)
        else if (type !== 'BOOKMARK') held.note(kind, object)
      }
      // A server that ends each watch at once, as on its way down, is not asked as fast as it can answer.
      if (performance.now() - begun_ms < retry_ms) await pause(retry_ms, undefined, { signal })
    } catch (error) {
      if (!signal.aborted) log({ err: error, kind }, 'a watch ended; it begins anew')
      if (isStatus(error, 410)) place = undefined
      // The kind is not installed: there are none.
      if (isStatus(error, 404)) listed.add(kind)
      await pause(retry_ms, undefined, { signal }).catch(() => undefined)
    }
  }
}

const removed_max = 10_000

const keyOf = ({ namespace = '', name }: { namespace?: string | undefined; name: string }) => `${namespace}/${name}`

const versionOf = ({ metadata }: Thing) => Number(metadata.resourceVersion ?? 0)

/** Without what is large and never read; of what is watched by its metadata nothing else, also when a write answered with all. */
function projectionOf(kind: WatchedKind, thing: Thing): Thing {
  const {
    name,
    namespace,
    uid,
    resourceVersion,
    generation,
    creationTimestamp,
    deletionTimestamp,
    labels,
    annotations,
  } = thing.metadata
  const metadata = {
    name,
    ...(namespace && { namespace }),
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
    ...(generation && { generation }),
    ...(creationTimestamp && { creationTimestamp }),
    ...(deletionTimestamp && { deletionTimestamp }),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
  }
  return whole_kinds.includes(kind) ? { ...thing, metadata } : { metadata }
}
