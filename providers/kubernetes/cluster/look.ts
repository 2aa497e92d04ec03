// Everything of one service, or of one replica set, that the cache has, read at one moment.
import type { Backup, Cluster, Deployment, Pod, Thing } from '../api/kinds.ts'
import type { Cell } from '../cell.ts'
import { pooler_label, service_label, type ServiceNames, set_label, type SetNames } from '../names.ts'

export type Owned = {
  cluster: Cluster | undefined
  /** Of its Cluster: nodes, and those of jobs. */
  pods: readonly Pod[]
  claims: readonly Thing[]
  secrets: readonly Thing[]
  services: readonly Thing[]
  deployment: Deployment | undefined
  pooler_pods: readonly Pod[]
}

/** A service, without what its replica sets own. */
export type Look = Owned & {
  namespace: Thing | undefined
  backups: readonly Backup[]
  object_store: Thing | undefined
  store_secret: Thing | undefined
  network_policy: Thing | undefined
  sets: readonly { cluster: Cluster; pods: readonly Pod[] }[]
}

type Has = Pick<Cell['cache'], 'find' | 'listOf'>
type Named = { namespace: string; cluster: string; pooler: string }

export function lookAt(cache: Has, names: ServiceNames, service_id: string): Look {
  const is_set = ({ metadata }: Thing) => metadata.labels?.[set_label] !== undefined
  const { namespace } = names
  return {
    ...ownedOf(cache, service_id, names, (thing) => !is_set(thing)),
    namespace: cache.find('Namespace', { name: namespace }),
    backups: cache.listOf('Backup', service_id),
    object_store: cache.find('ObjectStore', { namespace, name: names.store }),
    store_secret: cache.find('Secret', { namespace, name: names.store }),
    network_policy: cache.find('NetworkPolicy', { namespace, name: names.network }),
    sets: cache
      .listOf('Cluster', service_id)
      .filter(is_set)
      .map((cluster) => ({ cluster, pods: podsOf(cache, service_id, cluster.metadata.name) })),
  }
}

export function lookAtSet(cache: Has, names: SetNames & { namespace: string }, replica_set_id: string): Owned {
  const service_id = names.labels[service_label]
  return ownedOf(cache, service_id, names, ({ metadata }) => metadata.labels?.[set_label] === replica_set_id)
}

/** `is_own`: among all that belongs to the service, its replica sets included. */
function ownedOf(
  cache: Has,
  service_id: string,
  { namespace, cluster, pooler }: Named,
  is_own: (thing: Thing) => boolean,
): Owned {
  return {
    cluster: cache.find('Cluster', { namespace, name: cluster }),
    pods: podsOf(cache, service_id, cluster),
    claims: cache.listOf('PersistentVolumeClaim', service_id).filter(is_own),
    secrets: cache.listOf('Secret', service_id).filter(is_own),
    services: cache.listOf('Service', service_id).filter(is_own),
    deployment: cache.find('Deployment', { namespace, name: pooler }),
    pooler_pods: cache.listOf('Pod', service_id).filter(({ metadata }) => metadata.labels?.[pooler_label] === pooler),
  }
}

const podsOf = (cache: Has, service_id: string, cluster: string) =>
  cache.listOf('Pod', service_id).filter(({ metadata }) => metadata.labels?.['cnpg.io/cluster'] === cluster)

export const named = <T extends Thing>(things: readonly T[], name: string): T | undefined =>
  things.find(({ metadata }) => metadata.name === name)

/** Its jobs, such as the first node's initdb, have Pods too. */
export const instancesOf = (pods: readonly Pod[]): readonly Pod[] =>
  pods.filter(({ metadata }) => metadata.labels?.['cnpg.io/podRole'] === 'instance')

export const isReady = ({ status, metadata }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  (status?.conditions ?? []).some((one) => one.type === 'Ready' && one.status === 'True')

export const isPrimary = ({ metadata }: Pod): boolean => metadata.labels?.['cnpg.io/instanceRole'] === 'primary'
