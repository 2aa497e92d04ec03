// The kinds of objects that the provider knows, where the API server has them, and what is read of each. Pure.

export const kinds = {
  Namespace: { api: '/api/v1', plural: 'namespaces', api_version: 'v1', global: true },
  Secret: { api: '/api/v1', plural: 'secrets', api_version: 'v1' },
  Service: { api: '/api/v1', plural: 'services', api_version: 'v1' },
  PersistentVolumeClaim: { api: '/api/v1', plural: 'persistentvolumeclaims', api_version: 'v1' },
  Pod: { api: '/api/v1', plural: 'pods', api_version: 'v1' },
  Node: { api: '/api/v1', plural: 'nodes', api_version: 'v1', global: true },
  Job: { api: '/apis/batch/v1', plural: 'jobs', api_version: 'batch/v1' },
  Deployment: { api: '/apis/apps/v1', plural: 'deployments', api_version: 'apps/v1' },
  Cluster: { api: '/apis/postgresql.cnpg.io/v1', plural: 'clusters', api_version: 'postgresql.cnpg.io/v1' },
  Backup: { api: '/apis/postgresql.cnpg.io/v1', plural: 'backups', api_version: 'postgresql.cnpg.io/v1' },
  ObjectStore: {
    api: '/apis/barmancloud.cnpg.io/v1',
    plural: 'objectstores',
    api_version: 'barmancloud.cnpg.io/v1',
  },
  NetworkPolicy: { api: '/apis/networking.k8s.io/v1', plural: 'networkpolicies', api_version: 'networking.k8s.io/v1' },
  ClusterImageCatalog: {
    api: '/apis/postgresql.cnpg.io/v1',
    plural: 'clusterimagecatalogs',
    api_version: 'postgresql.cnpg.io/v1',
    global: true,
  },
  StorageClass: {
    api: '/apis/storage.k8s.io/v1',
    plural: 'storageclasses',
    api_version: 'storage.k8s.io/v1',
    global: true,
  },
} as const satisfies Record<string, { api: string; plural: string; api_version: string; global?: true }>

export type KindName = keyof typeof kinds

/** Which object. */
export type Ref = { kind: KindName; name: string; namespace?: string | undefined }

export type Metadata = {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  labels?: Readonly<Record<string, string>>
  annotations?: Readonly<Record<string, string>>
}

/** Any object, as far as every one has the same members. */
export type Thing = { kind?: string; metadata: Metadata }

/** What the provider sends: an object of which it names every member that it cares for. */
export type Manifest = {
  apiVersion: string
  kind: KindName
  metadata: Pick<Metadata, 'name' | 'namespace' | 'labels' | 'annotations'>
} & Readonly<Record<string, unknown>>

export type Pod = Thing & {
  spec: { containers: readonly Container[]; nodeName?: string }
  status?: {
    phase?: string
    conditions?: readonly Condition[]
    containerStatuses?: readonly ContainerStatus[]
    initContainerStatuses?: readonly ContainerStatus[]
  }
}
type Container = {
  name: string
  resources?: Resources
}
export type Resources = { requests?: Readonly<Record<string, string>>; limits?: Readonly<Record<string, string>> }
type ContainerStatus = {
  name: string
  restartCount?: number
  state?: { waiting?: { reason?: string; message?: string } }
}
type Condition = { type: string; status: string; reason?: string; message?: string }

export type Cluster = Thing & {
  spec: Readonly<Record<string, unknown>> & { instances?: number }
  status?: {
    phase?: string
    phaseReason?: string
    readyInstances?: number
    currentPrimary?: string
    targetPrimary?: string
    conditions?: readonly Condition[]
    image?: string
    pgDataImageInfo?: { image?: string; majorVersion?: number }
  }
}

export type Backup = Thing & {
  status?: { phase?: string; error?: string; backupId?: string; beginWal?: string; reconciliationTerminatedAt?: string }
}

export type Deployment = Thing & {
  spec?: { replicas?: number }
  status?: { observedGeneration?: number; readyReplicas?: number; updatedReplicas?: number; replicas?: number }
}

/** What the cache has of each kind that it watches. Of Secrets and the like only the metadata: no content comes here at all. */
export type Watched = {
  Namespace: Thing
  Secret: Thing
  Service: Thing
  PersistentVolumeClaim: Thing
  Pod: Pod
  Deployment: Deployment
  Cluster: Cluster
  Backup: Backup
  ObjectStore: Thing
  NetworkPolicy: Thing
}

export type WatchedKind = keyof Watched

/** Of the others only the metadata are read. */
export const whole_kinds: readonly WatchedKind[] = ['Pod', 'Deployment', 'Cluster', 'Backup']

export function pathOf({
  kind,
  namespace,
  name,
}: {
  kind: KindName
  namespace?: string | undefined
  name?: string
}): string {
  const { api, plural } = kinds[kind]
  const within = namespace === undefined || 'global' in kinds[kind] ? '' : `/namespaces/${namespace}`
  return `${api}${within}/${plural}${name === undefined ? '' : `/${name}`}`
}
