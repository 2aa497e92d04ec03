// What the provider asks of an API server, and no more. Objects are written by server-side apply with one field manager, so the same
// apply twice, or by two servers at once, is the same as once.
import { newBreaker } from './breaker.ts'
import { type Call, type Connection, openConnection } from './connection.ts'
import { isStatus } from './errors.ts'
import { type KindName, kinds, type Manifest, pathOf, type Ref, type Thing } from './kinds.ts'
import type { KubeconfigSource } from './kubeconfig.ts'

export type WatchEvent = { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'; object: Thing }
export type Listing = { items: readonly Thing[]; resource_version: string }
export type Selection = { kind: KindName; label_selector?: string | undefined; only_metadata?: boolean }

export type Client = ReturnType<typeof openClient>

const field_manager = 'howdah'
const page_items = 500
const metadata_list = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=1,application/json'
const metadata_one = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=1,application/json'
const watch_seconds = 300
/** Of what a Pod serves, in which a tenant may have broken out of PostgreSQL, and of what a node tells of all its Pods. */
const text_bytes_max = 4 * 2 ** 20

type Ask = (call: Call) => Promise<Thing>

export function openClient(source: KubeconfigSource) {
  const connection = openConnection(source)
  const breaker = newBreaker()
  // A node that does not answer must not keep the API server from being asked, nor the Pods of other nodes.
  const behind = { nodes: newBreaker(), pods: newBreaker() }
  const breakerOf = (path: string) => {
    if (path.startsWith('/api/v1/nodes/') || path.endsWith('/log')) return behind.nodes
    return path.includes('/proxy/') ? behind.pods : breaker
  }
  // What the API server answers has the form of the kind that was asked for; what is read of it is checked where it is read.
  const ask: Ask = async (call) => JSON.parse(await breaker.run(() => connection.ask(call))) as Thing
  return {
    ...newWriter(ask),
    ...newReader(ask, connection),
    /** What the API server fetches from a node, such as a log, or what a Pod serves; and its own version. */
    text: (path: string, query?: Call['query']): Promise<string> => {
      const call = {
        method: 'GET',
        path,
        accept: '*/*',
        answer_bytes_max: text_bytes_max,
        ...(query && { query }),
      } as const
      return breakerOf(path).run(() => connection.ask(call))
    },
    lines: (call: Call, signal: AbortSignal) => connection.lines(call, signal),
    close: connection.close,
  }
}

function newWriter(ask: Ask) {
  const query = { fieldManager: field_manager }
  return {
    apply: (manifest: Manifest): Promise<Thing> =>
      ask({
        method: 'PATCH',
        path: pathOf({ kind: manifest.kind, ...manifest.metadata }),
        query: { ...query, force: true },
        body: manifest,
        content_type: 'application/apply-patch+yaml',
      }),

    /** Fails with 409 when it exists. */
    create: ({ kind, metadata, ...rest }: Manifest): Promise<Thing> => {
      const path = pathOf({ kind, namespace: metadata.namespace })
      return ask({ method: 'POST', path, query, body: { kind, metadata, ...rest } })
    },

    merge: (ref: Ref, patch: object, subresource = ''): Promise<Thing> => {
      const path = pathOf(ref) + subresource
      return ask({ method: 'PATCH', path, query, body: patch, content_type: 'application/merge-patch+json' })
    },

    /** `resource_version`: only while it is unchanged. An object that is not there is as good as removed. */
    remove: async (ref: Ref, when: { resource_version?: string | undefined } = {}): Promise<void> => {
      const { resource_version: resourceVersion } = when
      const preconditions = resourceVersion === undefined ? {} : { preconditions: { resourceVersion } }
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background', ...preconditions }
      try {
        await ask({ method: 'DELETE', path: pathOf(ref), body })
      } catch (error) {
        if (!isStatus(error, 404)) throw error
      }
    },
  }
}

function newReader(ask: Ask, connection: Connection) {
  return {
    find: async (ref: Ref): Promise<Thing | undefined> => {
      try {
        return await ask({ method: 'GET', path: pathOf(ref) })
      } catch (error) {
        if (isStatus(error, 404)) return undefined
        throw error
      }
    },

    /** All of them, page by page. */
    list: async ({ kind, label_selector: labelSelector, only_metadata }: Selection): Promise<Listing> => {
      const items: Thing[] = []
      const accept = only_metadata ? { accept: metadata_list } : {}
      for (let next: string | undefined; ;) {
        const query = { labelSelector, limit: page_items, continue: next }
        // A list of objects.
        const page = (await ask({ method: 'GET', path: pathOf({ kind }), query, ...accept })) as unknown as {
          metadata: { resourceVersion: string; continue?: string }
          items: readonly Thing[] | null
        }
        items.push(...(page.items ?? []))
        if (!page.metadata.continue) return { items, resource_version: page.metadata.resourceVersion }
        next = page.metadata.continue
      }
    },

    watch: async function* (selection: Selection, resourceVersion: string, signal: AbortSignal) {
      const { kind, label_selector: labelSelector, only_metadata } = selection
      const follow = { watch: true, allowWatchBookmarks: true, timeoutSeconds: watch_seconds }
      const query = { ...follow, labelSelector, resourceVersion }
      const accept = only_metadata ? { accept: metadata_one } : {}
      for await (const line of connection.lines({ method: 'GET', path: pathOf({ kind }), query, ...accept }, signal))
        // Each line is an event.
        yield JSON.parse(line) as WatchEvent
    },

    may: async (verb: string, kind: KindName, subresource = ''): Promise<boolean> => {
      const { api, plural } = kinds[kind]
      const group = api.startsWith('/apis/') ? (api.split('/')[2] ?? '') : ''
      const spec = { resourceAttributes: { verb, group, resource: plural, ...(subresource && { subresource }) } }
      const review = await ask({
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
        body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec },
      })
      // The form of the kind.
      return 'status' in review && (review.status as { allowed?: unknown }).allowed === true
    },
  }
}
