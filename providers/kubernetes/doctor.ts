// What keeps a cell from working, a sentence each with what to do: whether it answers, the operator, the rights of the
// account, the image catalog, the storage class, the object store, the node ports.
import { type Client, openClient } from './api/client.ts'
import { isStatus, sentenceOf } from './api/errors.ts'
import { type KindName, kinds, type Thing } from './api/kinds.ts'
import type { CellSettings } from './cell.ts'
import { offersOf } from './facts.ts'
import { installation_label } from './names.ts'
import { openStore, type Store, StoreTrouble } from './store/store.ts'

type Spec = {
  region: string
  /** Undefined: there is no installation yet. */
  installation_id: string | undefined
  settings: CellSettings
  client: Client
  store?: Store | undefined
}

const all = ['get', 'list', 'watch', 'create', 'patch', 'delete'] as const

/** What the provider does, as deploy/kubernetes/rbac.yaml grants it. */
const rights: readonly { kind: KindName; verbs: readonly string[]; subresource?: string }[] = [
  { kind: 'Namespace', verbs: all },
  { kind: 'Secret', verbs: all },
  { kind: 'Service', verbs: all },
  { kind: 'PersistentVolumeClaim', verbs: ['get', 'list', 'watch', 'delete'] },
  { kind: 'Pod', verbs: ['get', 'list', 'watch'] },
  { kind: 'Pod', verbs: ['get'], subresource: 'proxy' },
  { kind: 'Pod', verbs: ['get'], subresource: 'log' },
  { kind: 'Node', verbs: ['get', 'list'] },
  { kind: 'Node', verbs: ['get'], subresource: 'proxy' },
  { kind: 'Job', verbs: ['delete'] },
  { kind: 'Deployment', verbs: all },
  { kind: 'NetworkPolicy', verbs: all },
  { kind: 'Cluster', verbs: all },
  { kind: 'Cluster', verbs: ['patch'], subresource: 'status' },
  { kind: 'ClusterImageCatalog', verbs: ['get', 'list'] },
  { kind: 'StorageClass', verbs: ['get', 'list'] },
]

/** Where the region keeps snapshots. */
const store_rights: typeof rights = [
  { kind: 'Backup', verbs: all },
  { kind: 'ObjectStore', verbs: all },
]

/** Of a region that is not open. */
export async function examineCell(spec: Pick<Spec, 'region' | 'installation_id' | 'settings'>) {
  const { region, settings } = spec
  const client = openClient(settings)
  try {
    const lacks = await examine({ ...spec, client, store: settings.store && openStore(client, settings.store) })
    const not_offered = Object.values(offersOf(region, settings)).flatMap((one) => (one.offered ? [] : [one.reason]))
    return { lacks, not_offered }
  } finally {
    client.close()
  }
}

async function examine(spec: Spec): Promise<string[]> {
  const { client, region } = spec
  try {
    await client.text('/version')
  } catch (error) {
    return [sentenceOf(error, region) ?? `region ${region} cannot be reached: ${String(error)}`]
  }
  const parts = [operatorLacks, rightLacks, catalogLacks, storageLacks, storeLacks, portLacks]
  const lacks: string[] = []
  for (const part of parts) lacks.push(...(await part(spec).catch((error: unknown) => [unreadable(error, region)])))
  return lacks
}

const unreadable = (error: unknown, region: string) => sentenceOf(error, region) ?? String(error)

async function operatorLacks({ client, region }: Spec): Promise<string[]> {
  try {
    await client.list({ kind: 'Cluster' })
  } catch (error) {
    if (!isStatus(error, 404)) throw error
    return [`region ${region} has no CloudNativePG operator; install it (tried: 1.30)`]
  }
  const deployments = await client.list({ kind: 'Deployment', label_selector: operator_label })
  const image = deployments.items.flatMap(imagesOf)[0] ?? ''
  const [, version, major, minor] = /:v?((\d+)\.(\d+)[^:/@]*)(?:@.*)?$/.exec(image) ?? []
  if (version === undefined || Number(major) > 1 || Number(minor) >= operator_minor_min) return []
  return [`the CloudNativePG operator of region ${region} is ${version}; it must be 1.${operator_minor_min} or newer`]
}

const operator_label = 'app.kubernetes.io/name=cloudnative-pg'
/** Of 1: older ones do not know that a failover needs a quorum. */
const operator_minor_min = 28

function imagesOf(deployment: Thing): string[] {
  const spec = 'spec' in deployment ? deployment.spec : undefined
  // The form of the kind.
  const { template } = (spec ?? {}) as { template?: { spec?: { containers?: readonly { image?: string }[] } } }
  return (template?.spec?.containers ?? []).flatMap(({ image }) => image ?? [])
}

async function rightLacks({ client, region, store }: Spec): Promise<string[]> {
  const lacks: string[] = []
  for (const { kind, verbs, subresource = '' } of store ? [...rights, ...store_rights] : rights) {
    const name = kinds[kind].plural + (subresource && `/${subresource}`)
    for (const verb of verbs) if (!(await client.may(verb, kind, subresource))) lacks.push(`${verb} ${name}`)
  }
  if (lacks.length === 0) return []
  return [`Howdah's account in region ${region} may not: ${lacks.join(', ')}; apply deploy/kubernetes/rbac.yaml`]
}

async function catalogLacks({ client, region, settings }: Spec): Promise<string[]> {
  const catalog = await client.find({ kind: 'ClusterImageCatalog', name: settings.catalog })
  if (catalog !== undefined) return []
  const example = {
    apiVersion: 'postgresql.cnpg.io/v1',
    kind: 'ClusterImageCatalog',
    metadata: { name: settings.catalog },
    spec: { images: [{ major: 18, image: '…' }] },
  }
  return [`region ${region} has no image catalog ${settings.catalog}; make one such as ${JSON.stringify(example)}`]
}

async function storageLacks({ client, region, settings }: Spec): Promise<string[]> {
  if (settings.storage_class === undefined) {
    const { items } = await client.list({ kind: 'StorageClass' })
    const is_default = 'storageclass.kubernetes.io/is-default-class'
    if (items.some(({ metadata }) => metadata.annotations?.[is_default] === 'true')) return []
    return [`region ${region} has no default storage class; name one with storage_class`]
  }
  if ((await client.find({ kind: 'StorageClass', name: settings.storage_class })) !== undefined) return []
  return [`region ${region} has no storage class ${settings.storage_class}; name another one with storage_class`]
}

async function storeLacks({ client, region, store }: Spec): Promise<string[]> {
  if (store === undefined) return []
  try {
    await client.list({ kind: 'ObjectStore' })
    await store.list('', 1)
    return []
  } catch (error) {
    if (isStatus(error, 404))
      return [`region ${region} has no barman-cloud plugin of CloudNativePG; install it (tried: 0.14)`]
    if (error instanceof StoreTrouble) return [`region ${region} takes no snapshots: ${error.message}`]
    throw error
  }
}

async function portLacks({ client, region, installation_id, settings: { node_ports } }: Spec): Promise<string[]> {
  const { first, last } = node_ports
  const { items } = await client.list({ kind: 'Service' })
  const others = items
    .filter(({ metadata: { labels } }) => (labels?.[installation_label] ?? 'none') !== installation_id)
    .flatMap((service) =>
      nodePortsOf(service)
        .filter((port) => port >= first && port <= last)
        .map((port) => `${service.metadata.namespace}/${service.metadata.name} (${port})`),
    )
  if (others.length === 0) return []
  const named = [...others.slice(0, named_max), ...(others.length > named_max ? ['…'] : [])].join(', ')
  return [`node_ports of region ${region} are those of other Services too: ${named}; name others`]
}

const named_max = 5

function nodePortsOf(service: Thing): number[] {
  const spec = 'spec' in service ? service.spec : undefined
  // The form of the kind.
  const { ports = [] } = (spec ?? {}) as { ports?: readonly { nodePort?: number }[] }
  return ports.flatMap(({ nodePort }) => nodePort ?? [])
}
