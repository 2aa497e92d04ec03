// What keeps a cell from working, a sentence each with what to do: whether it answers, the operator, the rights of the
// account, the image catalog, the storage class.
import type { Client } from './api/client.ts'
import { isStatus, sentenceOf } from './api/errors.ts'
import { type KindName, kinds } from './api/kinds.ts'
import type { CellSettings } from './cell.ts'
import { type Store, StoreTrouble } from './store/store.ts'

type Spec = { region: string; settings: CellSettings; client: Client; store?: Store | undefined }

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

export async function examine(spec: Spec): Promise<string[]> {
  const { client, region } = spec
  try {
    await client.text('/version')
  } catch (error) {
    return [sentenceOf(error, region) ?? `region ${region} cannot be reached: ${String(error)}`]
  }
  const parts = [operatorLacks, rightLacks, catalogLacks, storageLacks, storeLacks]
  const lacks: string[] = []
  for (const part of parts) lacks.push(...(await part(spec).catch((error: unknown) => [unreadable(error, region)])))
  return lacks
}

const unreadable = (error: unknown, region: string) => sentenceOf(error, region) ?? String(error)

async function operatorLacks({ client, region }: Spec): Promise<string[]> {
  try {
    await client.list({ kind: 'Cluster' })
    return []
  } catch (error) {
    if (!isStatus(error, 404)) throw error
    return [`region ${region} has no CloudNativePG operator; install it (tried: 1.30)`]
  }
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
