// What a namespace needs so that its Clusters can use the object store of the cell: the keys, and the description of the store for the
// plugin. Both belong to the namespace, and go with it.
import type { Manifest } from '../api/kinds.ts'
import { type Change, isAsSigned, signed } from '../cell.ts'
import type { Look } from '../cluster/look.ts'
import { secretOf } from '../cluster/secrets.ts'
import type { ServiceNames } from '../names.ts'
import { plugin_name } from '../phase.ts'
import type { StoreSettings } from '../store/settings.ts'
import { key_names, type Store } from '../store/store.ts'

/** Below it is all that a Cluster has in the store. */
export const prefixOf = ({ prefix }: StoreSettings, { namespace, cluster }: ServiceNames): string =>
  [...(prefix === '' ? [] : [prefix]), namespace, cluster, ''].join('/')

export async function storeChanges(store: Store, names: ServiceNames, look: Look): Promise<Change[]> {
  const { keys, version } = await store.keys()
  const { namespace, store: name, namespace_labels: labels } = names
  const about = signed(secretOf({ namespace, name, labels }), { version })
  const stringData = { [key_names.id]: keys.id, [key_names.secret]: keys.secret }
  const description = objectStoreOf(store.settings, names)
  return [
    ...(isAsSigned(look.store_secret, about)
      ? []
      : [{ effect: 'store secret: apply', apply: { ...about, type: 'Opaque', stringData } }]),
    ...(isAsSigned(look.object_store, description) ? [] : [{ effect: 'store: apply', apply: description }]),
  ]
}

function objectStoreOf({ bucket, prefix, endpoint }: StoreSettings, names: ServiceNames): Manifest {
  const { namespace, store: name, namespace_labels: labels } = names
  const key = (one: string) => ({ name, key: one })
  return signed({
    apiVersion: 'barmancloud.cnpg.io/v1',
    kind: 'ObjectStore',
    metadata: { name, namespace, labels },
    spec: {
      configuration: {
        destinationPath: ['s3:/', bucket, ...(prefix === '' ? [] : [prefix]), namespace].join('/'),
        endpointURL: endpoint,
        s3Credentials: { accessKeyId: key(key_names.id), secretAccessKey: key(key_names.secret) },
        wal: { maxParallel: 2 },
      },
      // Stores that are not Amazon's own often know no other checksums.
      instanceSidecarConfiguration: {
        env: [
          { name: 'AWS_REQUEST_CHECKSUM_CALCULATION', value: 'when_required' },
          { name: 'AWS_RESPONSE_CHECKSUM_VALIDATION', value: 'when_required' },
        ],
      },
    },
  })
}

/** In a Cluster that archives there. */
export const archivingPlugin = ({ store, cluster }: ServiceNames) => ({
  name: plugin_name,
  isWALArchiver: true,
  parameters: { barmanObjectName: store, serverName: cluster },
})

/** For a Cluster that begins with what another one has there. */
export const archiveOrigin = ({ store, cluster }: ServiceNames) => ({
  name: cluster,
  plugin: { name: plugin_name, parameters: { barmanObjectName: store, serverName: cluster } },
})
