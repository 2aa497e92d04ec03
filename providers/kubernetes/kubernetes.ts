// The provider that runs PostgreSQL in a Kubernetes cluster, by the CloudNativePG operator. It writes objects and reads them; what
// runs is the operator's work, and goes on when no server of ours runs.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { candidatesFor } from '../address.ts'
import type { Authority } from '../postgres/certificate.ts'
import { syncOne } from '../host/sync.ts'
import { type Kind, type Listed, type Provider, type WantedReplicaSet, type WantedService } from '../provider.ts'
import { openCache } from './api/cache.ts'
import { type Client, openClient } from './api/client.ts'
import { NoAnswer, sentenceOf } from './api/errors.ts'
import type { Cell, CellSettings } from './cell.ts'
import { openFacts } from './facts.ts'
import { hibernation_annotation, installation_label, ownerOf, service_label, set_label } from './names.ts'
import { isWhole } from './cluster/pass.ts'
import { instancesOf, isPrimary, isReady } from './cluster/look.ts'
import { newLogs } from './log/logs.ts'
import { newMeter } from './metric/meter.ts'
import { newArchives } from './store/archives.ts'
import { openStore } from './store/store.ts'
import { applyReplicaSet, observeReplicaSet } from './replica-set/replica-set.ts'
import { applyService, observeService } from './service/service.ts'

export type KubernetesOptions = {
  region: string
  installation_id: string
  /** Where the provider keeps what it must know when the cluster does not answer. */
  directory: string
  authority: Authority
  settings: CellSettings
  effect?: (name: string) => void | Promise<void>
  log: (fact: object, message: string) => void
}

export async function openKubernetesProvider(options: KubernetesOptions): Promise<Provider> {
  const { region, installation_id, settings, authority, log } = options
  const client = openClient(settings)
  const identity = await identityOf(client, options).catch((error: unknown) => {
    client.close()
    throw error
  })
  const label_selector = `${installation_label}=${installation_id}`
  const store = settings.store && openStore(client, settings.store)
  const cache = openCache({ client, label_selector, owner_label: service_label, has_store: store !== undefined, log })
  const facts = openFacts({ identity, region, settings, client, authority })
  const cell: Cell = {
    region,
    installation_id,
    settings,
    client,
    cache,
    authority,
    image: facts.image,
    ...(store && { store }),
    archives: newArchives(),
    effect: async (name) => options.effect?.(name),
    log,
  }
  const node_ports = { host: settings.host, ports: settings.node_ports, help: 'widen the node_ports of the region' }
  const [services, sets] = [newLast<WantedService>(), newLast<WantedReplicaSet>()]
  return {
    facts: facts.now,
    service: {
      refusal: facts.serviceRefusal,
      apply: (wanted, pass) => applyService(cell, services.keep(wanted.service_id, wanted), pass),
      list: () => listed(cell, service_label),
      query: async () => ({ unavailable: `SQL statements through the API are not offered in region ${region}` }),
    },
    replica_set: {
      refusal: facts.replicaSetRefusal,
      apply: (wanted, pass) => applyReplicaSet(cell, sets.keep(wanted.replica_set_id, wanted), pass),
      list: () => listed(cell, set_label),
    },
    vpc: {
      refusal: facts.vpcRefusal,
      apply: async () => ({ settled: true, peers: [] }),
      list: async () => [],
    },
    addresses: ({ id, role }) => candidatesFor(node_ports, { id, role }),
    heal: async (id) => {
      const [service, set] = [services.find(id), sets.find(id)]
      return service ? await observeService(cell, service) : set && (await observeReplicaSet(cell, set))
    },
    logs: newLogs(cell),
    metrics: newMeter(cell),
    watch: (onNews) => watchOwners(cell, onNews),
    close: async () => {
      await Promise.all([cache.close(), facts.close()])
      client.close()
    },
  }
}

/** As last wanted, for the time in which the metadata store does not answer. */
function newLast<Wanted extends { deleted: boolean }>() {
  const last = new Map<string, Wanted>()
  return {
    find: (id: string) => last.get(id),
    keep: (id: string, wanted: Wanted): Wanted => {
      if (wanted.deleted) last.delete(id)
      else last.set(id, wanted)
      return wanted
    },
  }
}

/**
 * Which cluster it is, and whose services: the cluster's own id together with the installation's. Where the cluster does not answer, its
 * id comes from a file that the first start has written.
 */
async function identityOf(client: Client, { region, installation_id, directory }: KubernetesOptions): Promise<string> {
  const file = join(directory, `${region}.cluster`)
  const known = (await readFile(file, 'utf8').catch(() => undefined))?.trim()
  const uid = await clusterUid(client, region).catch((error: unknown) => {
    if (error instanceof NoAnswer && known !== undefined) return known
    throw new Error(sentenceOf(error, region) ?? String(error), { cause: error })
  })
  if (uid === known) return `${uid}/${installation_id}`
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await writeFile(`${file}.new`, `${uid}\n`, { mode: 0o600, flush: true })
  await rename(`${file}.new`, file)
  await syncOne(directory)
  return `${uid}/${installation_id}`
}

async function clusterUid(client: Client, region: string): Promise<string> {
  const uid = (await client.find({ kind: 'Namespace', name: 'kube-system' }))?.metadata.uid
  if (uid === undefined) throw new Error(`the cluster of region ${region} has no namespace kube-system`)
  return uid
}

/** Down: it is wanted on, and no node of it is ready that clients could be led to. */
async function listed(cell: Cell, label: typeof service_label | typeof set_label): Promise<Listed[]> {
  const { cache, region } = cell
  // A service that was not read yet must not count as down.
  if (!(await isWhole(cell))) throw new NoAnswer(`region ${region} was not read yet`)
  const is_set = label === set_label
  const serving = new Set(
    instancesOf(cache.list('Pod'))
      .filter((pod) => isReady(pod) && (is_set || isPrimary(pod)))
      .map(({ metadata }) => metadata.labels?.['cnpg.io/cluster']),
  )
  return cache
    .list('Cluster')
    .filter(({ metadata }) => (metadata.labels?.[set_label] !== undefined) === is_set)
    .map(({ metadata }) => ({
      id: metadata.labels?.[label] ?? metadata.name,
      down: metadata.annotations?.[hibernation_annotation] !== 'on' && !serving.has(metadata.name),
    }))
}

function watchOwners({ cache }: Cell, onNews: (kind: Kind, id: string) => void): void {
  cache.onChange(({ metadata }, kind) => {
    const owner = ['Pod', 'Cluster', 'Deployment', 'Backup'].includes(kind) ? ownerOf(metadata) : undefined
    if (owner) onNews(owner.kind, owner.id)
  })
}
