// How a read replica set looks to callers: among the sets of its service, and as a service of its own. Pure.
import type { ReadReplicaSet } from '#contract/replica-set.ts'
import { replicaSetStatusOf, type ReplicaSetStatus, statusAsService } from '#contract/replica-set-status.ts'
import type { Service } from '#contract/service.ts'
import { connectionsOf } from '#providers/postgres/size.ts'
import { endpointOf } from '../address.ts'
import type { ReplicaSetRow } from './replica-sets.ts'
import type { ServiceRow } from './store.ts'

export function setStatus(row: ReplicaSetRow, service_deleted: boolean): ReplicaSetStatus {
  return replicaSetStatusOf({ ...row, deleted: row.deleted || service_deleted })
}

/** What of its service shows in a set. */
export type Parent = Pick<ServiceRow, 'vpc_id' | 'deleted_at'>

export function replicaSetView(row: ReplicaSetRow, service: Parent): ReadReplicaSet {
  const view: ReadReplicaSet = {
    id: row.replica_set_id,
    name: row.name,
    nodes: row.nodes,
    cpu_millis: row.cpu_millis,
    memory_gbs: row.memory_gbs,
    endpoint: endpointOf(row, service.vpc_id),
    metadata: { environment: row.environment },
    status: setStatus(row, service.deleted_at !== null),
  }
  return { ...view, ...poolerView(row, service.vpc_id) }
}

/** While there is a pooler: where it is. Of a set, and of a service. */
export function poolerView(row: Pick<ReplicaSetRow, 'pooler' | 'addresses'>, vpc_id: number | null, limits = {}) {
  return row.pooler ? { connection_pooler: { endpoint: endpointOf(row, vpc_id, 'pooler'), ...limits } } : {}
}

/** The view of a set for clients that know services only: its own service's view fills in the rest. */
export function setAsService(row: ReplicaSetRow, parent: Parent & { power: 'on' | 'off' }, service: Service): Service {
  const { id, name, cpu_millis, memory_gbs, endpoint, metadata, status, ...pooler } = replicaSetView(row, parent)
  // Its nodes are copies of the service, and may take as much.
  const { volume_type = 'unknown', disk_gbs } = service.resources[0]?.spec ?? {}
  const { connection_pooler } = pooler
  // Each node takes as many as a service of its size.
  const max_connections = row.nodes * connectionsOf({ cpu_millis, memory_gbs })
  return {
    service_id: id,
    project_id: service.project_id,
    name,
    created: row.created,
    region_code: service.region_code,
    service_type: service.service_type,
    // A standby is of its primary's version.
    ...(service.postgres_version !== undefined && { postgres_version: service.postgres_version }),
    status: statusAsService(status, row.state, parent.power),
    endpoint,
    ...(connection_pooler && { connection_pooler }),
    forked_from: { is_standby: true, project_id: service.project_id, service_id: service.service_id },
    ha_replicas: { replica_count: 0, sync_replica_count: 0 },
    metadata,
    read_replica_sets: [],
    resources: [
      {
        id,
        spec: { cpu_millis, memory_gbs, max_connections, ...(disk_gbs !== undefined && { disk_gbs }), volume_type },
      },
    ],
  }
}
