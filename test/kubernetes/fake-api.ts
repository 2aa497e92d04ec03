// A small API server for tests of the Kubernetes provider: get, list, watch, server-side apply, merge, create, delete. It can be paused,
// its watches can be cut, and its past forgotten.
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Event, type Held, newStore, Refused, type Store, type Tree } from './fake-store.ts'

export type FakeApi = Awaited<ReturnType<typeof startFakeApi>>

export async function startFakeApi() {
  const store = newStore()
  const watches = new Set<ServerResponse>()
  const asked: string[] = []
  /** What a Pod has logged, by its path. */
  const logs = new Map<string, readonly string[]>()
  /** What the account may not do, such as `delete clusters`. */
  const denied = new Set<string>()
  let paused: Promise<void> = Promise.resolve()
  let silent: RegExp | undefined
  let refused: RegExp | undefined
  const server = createServer((request, response) => {
    void paused.then(async () => {
      if (silent?.test(request.url ?? '')) return
      try {
        if (request.method !== 'GET' && refused?.test(request.url ?? '')) throw new Refused(422, 'denied by a webhook')
        asked.push(`${request.method} ${request.url?.split('?')[0]}`)
        await answer({ store, watches, logs, denied }, request, response)
      } catch (error) {
        const code = error instanceof Refused ? error.code : 500
        const message = error instanceof Error ? error.message : String(error)
        response
          .writeHead(code, { 'content-type': 'application/json' })
          .end(JSON.stringify({ kind: 'Status', message }))
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const folder = mkdtempSync(join(tmpdir(), 'howdah-kube-'))
  const kubeconfig = join(folder, 'kubeconfig')
  const config = {
    'current-context': 'fake',
    contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'fake' } }],
    clusters: [{ name: 'fake', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'fake', user: { token: 'a token' } }],
  }
  writeFileSync(kubeconfig, JSON.stringify(config))
  return {
    store,
    folder,
    kubeconfig,
    /** What was asked of it, in order. */
    asked,
    /** No answer until the result is called. */
    pause(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>()
      paused = promise
      return resolve
    },
    /** Such paths are never answered, as where the node behind them is dead. */
    silence: (paths: RegExp) => void (silent = paths),
    /** No change of such paths is taken. */
    refuse: (paths: RegExp) => void (refused = paths),
    logs,
    denied,
    /** As the operator would see it: an attempt of the job has failed, with these lines. */
    failJob(
      namespace: string,
      cluster: string,
      job: 'initdb' | 'full-recovery' | 'pgbasebackup',
      lines: readonly string[],
    ): void {
      const clusters = `/apis/postgresql.cnpg.io/v1/namespaces/${namespace}/clusters`
      const pods = `/api/v1/namespaces/${namespace}/pods`
      const name = `${cluster}-1-${job}-${store.version()}`
      logs.set(`${pods}/${name}`, lines)
      const labels = {
        ...store.find(`${clusters}/${cluster}`)?.metadata.labels,
        'cnpg.io/cluster': cluster,
        'cnpg.io/jobRole': job,
      }
      store.apply(`${pods}/${name}`, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace, labels, annotations: {}, uid: '', resourceVersion: '', generation: 0 },
        spec: { containers: [] },
      })
      store.merge(`${pods}/${name}`, { status: { phase: 'Failed' } })
    },
    cutWatches: () => watches.forEach((one) => one.socket?.resetAndDestroy()),
    stop: async (): Promise<void> => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true })
    },
  }
}

type World = {
  store: Store
  watches: Set<ServerResponse>
  logs: ReadonlyMap<string, readonly string[]>
  denied: ReadonlySet<string>
}

async function answer({ store, watches, logs, denied }: World, request: IncomingMessage, response: ServerResponse) {
  const url = new URL(request.url ?? '', 'http://fake')
  const body = await text(request)
  const say = (object: unknown) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(object))
  const path = url.pathname.replace(/(?<!pg)\/status$/, '')
  const sent = (body === '' ? {} : JSON.parse(body)) as Tree
  if (request.method === 'PATCH') {
    const is_apply = request.headers['content-type']?.startsWith('application/apply-patch')
    return say(is_apply ? store.apply(path, sent as unknown as Held) : store.merge(path, sent))
  }
  if (path.endsWith('/selfsubjectaccessreviews')) return say({ status: { allowed: !denied.has(askedIn(sent)) } })
  if (request.method === 'POST') {
    const { name } = sent['metadata'] as { name: string }
    if (store.find(`${path}/${name}`)) throw new Refused(409, 'already exists')
    return say(store.apply(`${path}/${name}`, sent as unknown as Held))
  }
  if (request.method === 'DELETE') {
    const { preconditions } = sent as { preconditions?: { resourceVersion?: string } }
    store.remove(path, preconditions?.resourceVersion)
    return say({ kind: 'Status', status: 'Success' })
  }
  if (path === '/version') return say({ gitVersion: 'v1.35.4' })
  const selector = url.searchParams.get('labelSelector') ?? ''
  if (url.searchParams.has('watch')) return stream(store, watches, path, selector, url, response)
  if (url.pathname.endsWith('/proxy/pg/status')) return say(statusOf(store, path))
  if (path.endsWith('/log')) return response.end((logs.get(path.slice(0, -4)) ?? []).join('\n'))
  if (path.endsWith(':9187/proxy/metrics')) return response.end(ownMetricsOf(logs.get(path.split(':')[0] ?? '')))
  if (path.includes('/proxy/')) return response.end(metricsOf(store))
  const found = store.find(path)
  if (found) return say(found)
  if (/\/[a-z]+$/.test(path) && !/\/(namespaces|clusterimagecatalogs|storageclasses)\/[^/]+$/.test(path)) {
    const items = store.list(path).filter((held) => isSelected(held, selector))
    return say(pageOf(items, url, store.version()))
  }
  throw new Refused(404, 'not found')
}

function askedIn({ spec }: Tree): string {
  const { verb, resource } = (spec as { resourceAttributes: { verb: string; resource: string } }).resourceAttributes
  return `${verb} ${resource}`
}

/** `continue` is the number of those before. */
function pageOf(items: readonly Held[], { searchParams }: URL, version: number) {
  const [from, limit] = [Number(searchParams.get('continue')), Number(searchParams.get('limit'))]
  const next = limit > 0 && from + limit < items.length ? { continue: String(from + limit) } : {}
  const page = limit > 0 ? items.slice(from, from + limit) : items
  return { kind: 'List', metadata: { resourceVersion: String(version), ...next }, items: page }
}

function stream(
  store: Store,
  watches: Set<ServerResponse>,
  path: string,
  selector: string,
  url: URL,
  response: ServerResponse,
) {
  const send = ({ type, object, collection }: Event) => {
    const is_here = collection === path || collection.replace(/\/namespaces\/[^/]+\//, '/') === path
    if (is_here && isSelected(object, selector)) response.write(`${JSON.stringify({ type, object })}\n`)
  }
  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
  const end = store.follow(Number(url.searchParams.get('resourceVersion')), send)
  watches.add(response)
  response.on('close', () => {
    watches.delete(response)
    end()
  })
}

/** As the instance manager of a primary tells it. */
function statusOf(store: Store, path: string) {
  const [, primary = ''] = /https:([^:]+):/.exec(path) ?? []
  const pods = store.list('/api/v1/pods')
  const cluster = pods.find(({ metadata }) => metadata.name === primary)?.metadata.labels['cnpg.io/cluster']
  const of = store.list('/apis/postgresql.cnpg.io/v1/clusters').find(({ metadata }) => metadata.name === cluster)
  const { synchronous } = (of?.spec?.['postgresql'] ?? {}) as { synchronous?: object }
  const standbys = pods.filter(
    ({ metadata }) => metadata.labels['cnpg.io/cluster'] === cluster && metadata.name !== primary,
  )
  const syncState = synchronous === undefined ? 'async' : 'quorum'
  const replicationInfo = standbys.map(({ metadata }) => ({
    applicationName: metadata.name,
    state: 'streaming',
    syncState,
  }))
  return { replicationInfo }
}

/** As the instance manager of a primary tells them: its PostgreSQL was started when its log begins. */
const ownMetricsOf = ([first = '']: readonly string[] = []) =>
  `cnpg_pg_postmaster_start_time ${Date.parse(first.split(' ')[0] ?? '') / 1000}\n`

/** As a kubelet tells them. */
const metricsOf = (store: Store) =>
  store
    .list('/api/v1/pods')
    .map(
      ({ metadata: { name, namespace } }) =>
        `pod_memory_working_set_bytes{namespace="${namespace}",pod="${name}"} 5e+07\n`,
    )
    .join('')

function isSelected({ metadata }: Held, selector: string): boolean {
  if (selector === '') return true
  const [name = '', value] = selector.split('=')
  return metadata.labels?.[name] === value
}
