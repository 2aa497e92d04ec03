// What the Clusters of services and of replica sets have in common: how their nodes run. Pure.
import type { Size } from '../../provider.ts'
import type { Cluster } from '../api/kinds.ts'
import type { CellSettings } from '../cell.ts'
import { preloadsFor, resourcesOf, volumeOf } from '../sizes.ts'
import { client_rules } from './access.ts'

type Spec = {
  settings: CellSettings
  instances: number
  major: number
  size: Size
  extensions: readonly string[]
  parameters: Readonly<Record<string, string>>
  labels: Readonly<Record<string, string>>
  /** The name of the secret with its certificate. */
  tls: string
  /** The Cluster as it is; its volumes never shrink. */
  there?: Cluster | undefined
}

/** An idle pooler or client must not hold up a stop for minutes. */
const smart_shutdown_seconds = 10
const stop_seconds = 60

/** The part of the `spec` of a Cluster. */
export function nodesSpecOf({ settings, instances, major, size, extensions, parameters, labels, tls, there }: Spec) {
  const preloads = preloadsFor(extensions)
  return {
    instances,
    imageCatalogRef: { apiGroup: 'postgresql.cnpg.io', kind: 'ClusterImageCatalog', name: settings.catalog, major },
    inheritedMetadata: { labels },
    storage: {
      size: volumeOf(settings, there),
      ...(settings.storage_class && { storageClass: settings.storage_class }),
    },
    resources: resourcesOf(size, settings),
    postgresql: {
      parameters,
      ...(preloads.length > 0 && { shared_preload_libraries: preloads }),
      pg_hba: client_rules,
    },
    smartShutdownTimeout: smart_shutdown_seconds,
    stopDelay: stop_seconds,
    enableSuperuserAccess: false,
    certificates: { serverTLSSecret: tls, serverCASecret: tls },
  }
}
