// What an operator does to a Cluster, as far as the provider can see it: Pods, volumes, status, hibernation, changes of the primary;
// and a listener at the node port while a primary runs. One step at a time and never at once, so passes meet every state between.
import type { Server } from 'node:net'
import type { FakeApi } from './fake-api.ts'
import type { FakeBucket } from './fake-bucket.ts'
import { takeBackups } from './fake-plugin.ts'
import { listenAt } from './fake-postgres.ts'
import type { Held, Tree } from './fake-store.ts'

const clusters = '/apis/postgresql.cnpg.io/v1/clusters'
const pathOf = (namespace: string, plural: string, name: string) => `/api/v1/namespaces/${namespace}/${plural}/${name}`
const clusterPath = ({ metadata: { namespace = '', name } }: Held) =>
  `/apis/postgresql.cnpg.io/v1/namespaces/${namespace}/clusters/${name}`

/** What PostgreSQL says when it starts. */
const started = ['starting PostgreSQL', 'listening on IPv4 address "0.0.0.0", port 5432', 'database system is ready']

/** As the operator's programs write it, with the time of the node before it. */
function logLineOf(message: string): string {
  const time = new Date().toISOString()
  const record = {
    log_time: time.replace('T', ' ').replace('Z', ' UTC'),
    error_severity: 'LOG',
    process_id: '7',
    message,
  }
  return `${time} ${JSON.stringify({ level: 'info', logger: 'postgres', msg: 'record', record })}`
}

export function startFakeOperator({ store, logs }: FakeApi, bucket: FakeBucket) {
  const listeners = new Map<number, Promise<Server>>()
  let due: NodeJS.Timeout | undefined
  let closed = false
  /** Until when a node that crashed stays down. */
  let down_until_ms = 0
  /** Whether the one node has no processors left for Pods that do not run yet. */
  let full = false
  /** Whether it makes nothing: jobs of it are under way, or have failed. */
  let held = false
  const soon = () => {
    if (!closed) due ??= setTimeout(pass, 1)
  }
  const end = store.follow(0, soon)

  function pass(): void {
    due = undefined
    const moved = [
      ...(held ? [] : store.list(clusters).map(step)),
      removeOrphans(),
      removeNamespaces(),
      takeBackups(store, bucket),
      listen(),
    ]
    if (moved.some(Boolean)) soon()
  }

  /** One step of one Cluster; true: there may be another. */
  function step(cluster: Held): boolean {
    const { namespace = '', name } = cluster.metadata
    const spec = cluster.spec ?? {}
    const pods = podsOf(name)
    const asleep = cluster.metadata.annotations['cnpg.io/hibernation'] === 'on'
    const status = (next: Tree) => {
      if (JSON.stringify({ ...cluster.status, ...next }) === JSON.stringify(cluster.status)) return false
      store.merge(clusterPath(cluster), { status: next })
      return true
    }
    const conditions = [
      { type: 'cnpg.io/hibernation', status: asleep && pods.length === 0 ? 'True' : 'False' },
      { type: 'ContinuousArchiving', status: 'True' },
    ]
    const last = pods.findLast(({ metadata }) => metadata.name !== cluster.status?.['currentPrimary']) ?? pods[0]
    if (asleep) {
      if (!last) return status({ conditions })
      store.remove(pathOf(namespace, 'pods', last.metadata.name))
      return true
    }
    const instances = Number(spec['instances'])
    if (pods.length > instances && last) {
      store.remove(pathOf(namespace, 'pods', last.metadata.name))
      return true
    }
    const old = pods.find((pod) => JSON.stringify(resourcesOf(pod)) !== JSON.stringify(spec['resources']))
    if (old) {
      store.remove(pathOf(namespace, 'pods', old.metadata.name))
      return true
    }
    if (pods.length < instances) return addPod(cluster, pods)
    const unready = pods.find((pod) => !isReady(pod))
    if (unready && performance.now() < down_until_ms) return true
    if (unready && full) return keepPending(unready)
    if (unready) {
      store.merge(pathOf(namespace, 'pods', unready.metadata.name), { status: ready })
      return true
    }
    const target = textOf(cluster.status?.['targetPrimary']) ?? `${name}-1`
    for (const pod of pods) {
      const role = pod.metadata.name === target ? 'primary' : 'replica'
      if (pod.metadata.labels['cnpg.io/instanceRole'] === role) continue
      const patch = { metadata: { labels: { 'cnpg.io/instanceRole': role } } }
      store.merge(pathOf(namespace, 'pods', pod.metadata.name), patch)
      return true
    }
    return status({
      phase: 'Cluster in healthy state',
      instances,
      readyInstances: pods.length,
      currentPrimary: target,
      targetPrimary: target,
      conditions,
      pgDataImageInfo: { image: 'postgresql:17', majorVersion: 17 },
    })
  }

  function keepPending({ metadata: { namespace = '', name }, status }: Held): boolean {
    if (JSON.stringify(status) !== JSON.stringify(pending))
      store.merge(pathOf(namespace, 'pods', name), { status: pending })
    return false
  }

  function addPod(cluster: Held, pods: readonly Held[]): boolean {
    const { namespace = '', name, labels } = cluster.metadata
    const free = [1, 2, 3, 4, 5, 6].map((number) => `${name}-${number}`)
    // The primary's volume is there after a sleep.
    const chosen = [textOf(cluster.status?.['currentPrimary']), ...free].find(
      (one) => one !== undefined && !pods.some((pod) => pod.metadata.name === one),
    )
    const metadata = { name: chosen ?? '', namespace, annotations: {}, uid: '', resourceVersion: '', generation: 0 }
    const own = { 'cnpg.io/cluster': name, 'cnpg.io/podRole': 'instance' }
    const resources = cluster.spec?.['resources']
    const claim = pathOf(namespace, 'persistentvolumeclaims', metadata.name)
    if (!store.find(claim))
      store.apply(claim, {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { ...metadata, labels: { ...labels, ...own } },
      })
    store.apply(pathOf(namespace, 'pods', metadata.name), {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, labels: { ...labels, ...own } },
      spec: { nodeName: 'node', containers: [{ name: 'postgres', resources }] },
      status: { conditions: [] },
    })
    logs.set(pathOf(namespace, 'pods', metadata.name), started.map(logLineOf))
    return true
  }

  const podsOf = (cluster: string) =>
    store
      .list('/api/v1/pods')
      .filter(
        ({ metadata: { labels } }) => labels['cnpg.io/cluster'] === cluster && labels['cnpg.io/podRole'] === 'instance',
      )

  /** What a Cluster owned goes after it. */
  function removeOrphans(): boolean {
    const names = new Set(store.list(clusters).map(({ metadata }) => metadata.name))
    for (const plural of ['pods', 'persistentvolumeclaims']) {
      const orphan = store
        .list(`/api/v1/${plural}`)
        .find(({ metadata }) => !names.has(metadata.labels['cnpg.io/cluster'] ?? ''))
      if (!orphan) continue
      store.remove(pathOf(orphan.metadata.namespace ?? '', plural, orphan.metadata.name))
      return true
    }
    return false
  }

  /** With all that is in them. */
  function removeNamespaces(): boolean {
    const gone = store.paths().find((path) => {
      const [, namespace] = /\/namespaces\/([^/]+)\//.exec(path) ?? []
      return namespace !== undefined && !store.find(`/api/v1/namespaces/${namespace}`)
    })
    if (gone) store.remove(gone)
    return gone !== undefined
  }

  /** At every node port whose Service has a Pod behind it. */
  function listen(): boolean {
    const wanted = new Map<number, Held>()
    for (const service of store.list('/api/v1/services')) {
      const selector = service.spec?.['selector'] as Record<string, string>
      const has = store
        .list('/api/v1/pods')
        .some(
          (pod) =>
            isReady(pod) && Object.entries(selector).every(([name, value]) => pod.metadata.labels[name] === value),
        )
      const [first] = (service.spec?.['ports'] ?? []) as { nodePort: number }[]
      const port = first?.nodePort
      if (has && port) wanted.set(port, service)
    }
    for (const [port, server] of listeners) {
      if (wanted.has(port)) continue
      listeners.delete(port)
      void server.then((one) => one.close())
    }
    for (const [port, service] of wanted)
      if (!listeners.has(port))
        listeners.set(
          port,
          listenAt(port, () => loginOf(service)),
        )
    return false
  }

  function loginOf({ metadata: { namespace = '', name, labels } }: Held) {
    const [cluster = ''] = name.split('-public')
    const tls = store.find(pathOf(namespace, 'secrets', `${cluster}-tls`))?.stringData
    const admin = store.find(pathOf(namespace, 'secrets', `s-${labels['howdah/service-id']}-admin`))?.stringData
    if (!tls || !admin) return undefined
    const verifier = String(admin['password'])
    return { certificate_pem: String(tls['tls.crt']), key_pem: String(tls['tls.key']), verifier }
  }

  return {
    /** As a fault would: the Pod is not ready any more, and comes back. */
    crash(namespace: string, pod: string): void {
      down_until_ms = performance.now() + down_ms
      store.merge(pathOf(namespace, 'pods', pod), { status: { conditions: [{ type: 'Ready', status: 'False' }] } })
    },
    /** From now on no node takes a Pod; the answer ends that. */
    fill(): () => void {
      full = true
      return () => {
        full = false
        soon()
      }
    },
    /** From now on no Cluster gets on; the answer ends that. */
    hold(): () => void {
      held = true
      return () => {
        held = false
        soon()
      }
    },
    stop: async (): Promise<void> => {
      closed = true
      end()
      clearTimeout(due)
      for (const server of listeners.values()) (await server).close()
    },
  }
}

const down_ms = 300

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)

const ready = { conditions: [{ type: 'Ready', status: 'True' }] }

/** As a scheduler says it. */
const pending = {
  conditions: [
    {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message:
        '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
    },
  ],
}

const isReady = ({ status }: Held) =>
  (status?.['conditions'] as { type: string; status: string }[] | undefined)?.some(
    (one) => one.type === 'Ready' && one.status === 'True',
  ) ?? false

const resourcesOf = ({ spec }: Held) => (spec?.['containers'] as { resources: unknown }[] | undefined)?.[0]?.resources
