// Everything of one service, or of one replica set, that the cache has, read at one moment.
import type { Backup, Cluster, Deployment, Pod, Thing } from '../api/kinds.ts'
import type { Cell } from '../cell.ts'
import { service_label, type ServiceNames, set_label, type SetNames } from '../names.ts'

export type Owned = {
  cluster: Cluster | undefined
  /** Of its Cluster: nodes, and those of jobs. */
  pods: readonly Pod[]
  claims: readonly Thing[]
  secrets: readonly Thing[]
  services: readonly Thing[]
  deployment: Deployment | undefined
}

/** A service, without what its replica sets own. */
export type Look = Owned & {
  namespace: Thing | undefined
  backups: readonly Backup[]
  object_store: Thing | undefined
  store_secret: Thing | undefined
  sets: readonly { cluster: Cluster; pods: readonly Pod[] }[]
}

type Has = Pick<Cell['cache'], 'find' | 'list'>
type Named = { namespace: string; cluster: string; pooler: string }

export function lookAt(cache: Has, names: ServiceNames, service_id: string): Look {
  const is_of = ({ metadata }: Thing) => metadata.labels?.[service_label] === service_id
  const is_set = ({ metadata }: Thing) => metadata.labels?.[set_label] !== undefined
  const sets = cache.list('Cluster').filter((one) => is_of(one) && is_set(one))
  return {
    ...ownedOf(cache, names, (thing) => is_of(thing) && !is_set(thing)),
    namespace: cache.find('Namespace', { name: names.namespace }),
    backups: cache.list('Backup').filter(is_of),
    object_store: cache.find('ObjectStore', { namespace: names.namespace, name: names.store }),
    store_secret: cache.find('Secret', { namespace: names.namespace, name: names.store }),
    sets: sets.map((cluster) => ({ cluster, pods: podsOf(cache, cluster.metadata.name) })),
  }
}

export function lookAtSet(cache: Has, names: SetNames & { namespace: string }, replica_set_id: string): Owned {
  return ownedOf(cache, names, ({ metadata }) => metadata.labels?.[set_label] === replica_set_id)
}

function ownedOf(cache: Has, { namespace, cluster, pooler }: Named, is_own: (thing: Thing) => boolean): Owned {
  return {
    cluster: cache.find('Cluster', { namespace, name: cluster }),
    pods: podsOf(cache, cluster),
    claims: cache.list('PersistentVolumeClaim').filter(is_own),
    secrets: cache.list('Secret').filter(is_own),
    services: cache.list('Service').filter(is_own),
    deployment: cache.find('Deployment', { namespace, name: pooler }),
  }
}

const podsOf = (cache: Has, cluster: string) =>
  cache.list('Pod').filter(({ metadata }) => metadata.labels?.['cnpg.io/cluster'] === cluster)

export const named = <T extends Thing>(things: readonly T[], name: string): T | undefined =>
  things.find(({ metadata }) => metadata.name === name)

/** Its jobs, such as the first node's initdb, have Pods too. */
export const instancesOf = (pods: readonly Pod[]): readonly Pod[] =>
  pods.filter(({ metadata }) => metadata.labels?.['cnpg.io/podRole'] === 'instance')

export const isReady = ({ status, metadata }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  (status?.conditions ?? []).some((one) => one.type === 'Ready' && one.status === 'True')

export const isPrimary = ({ metadata }: Pod): boolean => metadata.labels?.['cnpg.io/instanceRole'] === 'primary'
