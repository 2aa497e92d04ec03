// The Cluster of a replica set: nodes that follow the primary of their service and only read. Pure.
import type { WantedReplicaSet } from '../../provider.ts'
import type { Cluster, Manifest } from '../api/kinds.ts'
import { type CellSettings, signed } from '../cell.ts'
import { originOf } from '../cluster/access.ts'
import { nodesSpecOf } from '../cluster/nodes.ts'
import { hibernation_annotation, type ServiceNames, type SetNames } from '../names.ts'
import { archiveOrigin } from '../snapshot/store-objects.ts'
import { parametersOf } from '../sizes.ts'

type Spec = {
  names: ServiceNames
  set: SetNames
  settings: CellSettings
  major: number
  wanted: WantedReplicaSet
  /** The Cluster as it is; its volumes never shrink. */
  there?: Cluster | undefined
}

/** A node that is further behind gets no readers. */
const lag_max = '16Mi'

export function setClusterOf({ names, set, settings, major, wanted, there }: Spec): Manifest {
  const { service, size, nodes: instances } = wanted
  const { labels, tls } = set
  const { extensions } = service
  const parameters = followingOf(wanted)
  return signed({
    apiVersion: 'postgresql.cnpg.io/v1',
    kind: 'Cluster',
    metadata: {
      name: set.cluster,
      namespace: names.namespace,
      labels,
      annotations: { [hibernation_annotation]: service.power === 'off' ? 'on' : 'off' },
    },
    spec: {
      ...nodesSpecOf({ settings, instances, major, size, extensions, parameters, labels, tls, there }),
      probes: { readiness: { type: 'streaming', maximumLag: lag_max } },
      replica: { enabled: true, source: names.cluster },
      bootstrap: { pg_basebackup: { source: names.cluster } },
      // The operator keeps no slot at the primary for it: WAL that is not there any more comes from the archive.
      externalClusters: [{ ...originOf(names), ...(settings.store && archiveOrigin(names)) }],
    },
  })
}

/** A standby that has less of these than its primary stops. */
const floored = ['max_connections', 'max_worker_processes'] as const

function followingOf({ size, service }: WantedReplicaSet): Record<string, string> {
  const [own, primary] = [parametersOf(size, service.extensions), parametersOf(service.size, service.extensions)]
  const raised = floored.map((name) => [name, String(Math.max(Number(own[name]), Number(primary[name])))])
  return { ...own, ...Object.fromEntries(raised) }
}
