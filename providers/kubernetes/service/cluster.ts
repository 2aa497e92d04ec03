// The Cluster of a service, as the operator is to make it. Pure: the same wanted gives the same object.
import { lookup_sql } from '../../postgres/pooler-lookup.ts'
import {
  copyRoleOf,
  master_database,
  master_rights,
  master_role,
  pooler_role,
  standby_role,
} from '../../postgres/names.ts'
import type { WantedService } from '../../provider.ts'
import type { Cluster, Manifest } from '../api/kinds.ts'
import { type CellSettings, signed } from '../cell.ts'
import { elsewhere } from '../cluster/access.ts'
import { nodesSpecOf } from '../cluster/nodes.ts'
import { hibernation_annotation, type ServiceNames } from '../names.ts'
import { archivingPlugin } from '../snapshot/store-objects.ts'
import { parametersOf } from '../sizes.ts'

type ClusterSpec = {
  names: ServiceNames
  settings: CellSettings
  major: number
  wanted: WantedService
  /** How many nodes now, of which so many are waited for at each commit: on the way to what is wanted, see `counts.ts`. */
  instances: number
  sync: number
  /** Whether a failover needs a quorum of those that are waited for. */
  quorum: boolean
  hibernated: boolean
  /** The Cluster as it is; its volumes never shrink. */
  there?: Cluster | undefined
  /** What its annotations say of planned changes of its primary. */
  switchover: Readonly<Record<string, string>>
  /** As it was made: only a new Cluster is told where its data come from. */
  bootstrap: Bootstrap
}

export type Bootstrap = { bootstrap: object; externalClusters?: readonly object[] }

/** A commit reaches the store within about this time. */
const archiving = { archive_timeout: '60s' }

export function clusterOf(spec: ClusterSpec): Manifest {
  const { names, settings, major, wanted, instances, sync, quorum, hibernated, switchover, there } = spec
  const { namespace, cluster, labels, tls } = names
  const { size, extensions } = wanted
  const parameters = { ...parametersOf(size, extensions), ...(settings.store && archiving) }
  const nodes = nodesSpecOf({ settings, instances, major, size, extensions, parameters, labels, tls, there })
  const roles = [
    ...(settings.pooler_image ? [poolerRole(names)] : []),
    // It came with the data of the service that was copied.
    ...(isCopied(spec.bootstrap) ? [{ name: copyRoleOf(wanted.service_id), ensure: 'absent' }] : []),
  ]
  const manifest = {
    apiVersion: 'postgresql.cnpg.io/v1',
    kind: 'Cluster' as const,
    metadata: {
      name: cluster,
      namespace,
      labels,
      annotations: {
        [hibernation_annotation]: hibernated ? 'on' : 'off',
        ...switchover,
      },
    },
    spec: {
      ...nodes,
      postgresql: {
        ...nodes.postgresql,
        ...(sync > 0 && {
          synchronous: { method: 'any', number: sync, dataDurability: 'required', failoverQuorum: quorum },
        }),
      },
      primaryUpdateStrategy: 'unsupervised',
      primaryUpdateMethod: instances > 1 ? 'switchover' : 'restart',
      ...(settings.store && { plugins: [archivingPlugin(names)] }),
      ...(roles.length > 0 && { managed: { roles } }),
    },
  }
  // Without its beginning, which never changes and to which the operator adds.
  const { metadata } = signed(manifest)
  return { ...manifest, metadata, spec: { ...manifest.spec, ...spec.bootstrap } }
}

/** Where the data of a new service come from: an empty database. */
export function newDatabase(names: ServiceNames, extensions: readonly string[]): Bootstrap {
  return {
    bootstrap: {
      initdb: {
        database: master_database,
        owner: master_role,
        secret: { name: names.admin },
        encoding: 'UTF8',
        dataChecksums: true,
        postInitSQL: cluster_sql,
        postInitTemplateSQL: [lookup_sql],
        postInitApplicationSQL: [
          `alter schema public owner to ${master_role}`,
          ...extensions.map((name) => `create extension ${name}`),
        ],
      },
    },
  }
}

/** As the operator has it, which is what it was made with. */
export function bootstrapOf({ spec }: Cluster): Bootstrap {
  const { bootstrap, externalClusters } = spec
  return {
    bootstrap: bootstrap ?? {},
    ...(externalClusters !== undefined && {
      // A list of objects, as the operator has checked.
      externalClusters: externalClusters as readonly object[],
    }),
  }
}

export function isCopied({ externalClusters = [] }: Bootstrap): boolean {
  return externalClusters.some((one) => 'name' in one && one.name === elsewhere)
}

function poolerRole({ pooler }: ServiceNames) {
  return { name: pooler_role, ensure: 'present', login: true, inherit: false, passwordSecret: { name: pooler } }
}

/**
 * Names of the control plane are taken before a tenant can take them. The statements travel as arguments of a container, where `$$` would
 * become `$`: none has one.
 */
const cluster_sql = [
  `create role ${standby_role} nologin`,
  `create role ${pooler_role} nologin noinherit`,
  `alter role ${master_role} createrole createdb`,
  `grant ${master_rights.join(', ')} to ${master_role} with admin option`,
  // Not on postgres, where the operator's own roles log in without being superusers; client_rules keeps tenants out of it.
  'revoke all on database template1 from public',
]
