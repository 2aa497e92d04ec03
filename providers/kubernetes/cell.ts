// What every part of the provider needs of its cell: a Kubernetes cluster with the CloudNativePG operator.
import type { Authority } from '../postgres/certificate.ts'
import type { Pass } from '../provider.ts'
import type { Cache } from './api/cache.ts'
import type { Client } from './api/client.ts'
import type { Manifest, Ref, Thing } from './api/kinds.ts'
import { digest_annotation } from './names.ts'
import type { StoreSettings } from './store/settings.ts'
import type { Store } from './store/store.ts'
import type { Archives } from './store/archives.ts'
import { createHash } from 'node:crypto'

/** From the regions file. */
export type CellSettings = {
  kubeconfig?: string
  context?: string
  /** Where clients reach the node ports: a node, or a balancer in front of all. */
  host: string
  node_ports: { first: number; last: number }
  storage_class?: string
  storage_gbs: number
  /** A ClusterImageCatalog of the cluster. */
  catalog: string
  /** What the images of the catalog have beside PostgreSQL's own. */
  extensions: readonly string[]
  /** An image with PgBouncer; absent: no poolers. */
  pooler_image?: string
  /** How often the processors of a node are promised; absent: once. */
  cpu_overcommit?: number
  /** From which addresses the API server reaches Pods; absent: not known. */
  control_plane?: readonly string[]
  /** Where snapshots and WAL go; absent: there are none. */
  store?: StoreSettings
}

export type Cell = {
  region: string
  installation_id: string
  settings: CellSettings
  client: Client
  cache: Cache
  authority: Authority
  /** This major version of the catalog, or its newest, and the image; undefined: not read yet, or there is none. */
  image(major?: number): { major: number; image: string } | undefined
  /** Absent: the region keeps no snapshots. */
  store?: Store
  archives: Archives
  effect: (name: string) => Promise<void>
  log: (fact: object, message: string) => void
}

export type Change =
  | { effect: string; apply: Manifest }
  | { effect: string; create: Manifest }
  | { effect: string; remove: Ref; resource_version?: string | undefined }
  | { effect: string; merge: Ref; patch: object; subresource?: '/status' }

/** One after the other; each is announced first, and none begins after the pass was aborted. What is there afterwards is known at once. */
export async function make({ client, cache, effect }: Cell, changes: readonly Change[], pass?: Pass): Promise<void> {
  for (const change of changes) {
    pass?.signal.throwIfAborted()
    await effect(change.effect)
    if ('remove' in change) await client.remove(change.remove, change)
    else cache.saw(await written(client, change))
  }
}

function written(client: Client, change: Exclude<Change, { remove: Ref }>): Promise<Thing> {
  if ('apply' in change) return client.apply(change.apply)
  if ('create' in change) return client.create(change.create)
  return client.merge(change.merge, change.patch, change.subresource)
}

/** The manifest with its own digest on it. */
export function signed(manifest: Manifest, about: unknown = manifest): Manifest {
  const { metadata } = manifest
  const annotations = { ...metadata.annotations, [digest_annotation]: digestOf(about) }
  return { ...manifest, metadata: { ...metadata, annotations } }
}

export const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32)

export const isAsSigned = (there: Thing | undefined, { metadata }: Manifest): boolean =>
  there?.metadata.annotations?.[digest_annotation] === metadata.annotations?.[digest_annotation]
