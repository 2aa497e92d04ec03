// The rules of read replica sets, pure: what a request may ask, which change it makes to the row, how a row looks to
// callers, as a service too, and to a provider.
import { Fault } from '#contract/fault.ts'
import type { Problem } from '#contract/problem.ts'
import { nodes_max, type ReadReplicaSet } from '#contract/replica-set.ts'
import { replicaSetStatusOf, type ReplicaSetStatus, statusAsService } from '#contract/replica-set-status.ts'
import type { Service } from '#contract/service.ts'
import { parseSize, type Size, type SizeInput, sizeProblem, sizes } from '#contract/size.ts'
import type { WantedReplicaSet, WantedService } from '#providers/provider.ts'
import type { ServiceRow } from '../service/store.ts'
import { endpointOf, homeOf, networkOf } from '../vpc/rules.ts'
import type { ReplicaSetChange, ReplicaSetRow } from './store.ts'

export const sets_per_service_max = 4

type SetSize = { cpu_millis: number; memory_gbs: number }

export function parseNodes(nodes: number | string, problems: Problem[]): number {
  const count = /^\d{1,2}$/.test(String(nodes)) ? Number(nodes) : 0
  if (count < 1 || count > nodes_max) problems.push({ path: '/nodes', message: `must be 1 to ${nodes_max}` })
  return count
}

/** A size of its own, whatever its service has: a node of a set does not share. */
export function parseSetSize(input: SizeInput, problems: Problem[], otherwise: Size = sizes[0]): SetSize {
  const size = parseSize(input, otherwise, false)
  if (size === 'shared') return sizes[0]
  if (size !== undefined) return size
  problems.push(sizeProblem(input, false))
  return sizes[0]
}

export function setStatus(row: ReplicaSetRow, service_deleted: boolean): ReplicaSetStatus {
  return replicaSetStatusOf({ ...row, deleted: row.deleted || service_deleted })
}

export function requireSetStatus(row: ReplicaSetRow, accepts: readonly ReplicaSetStatus[]): void {
  const status = setStatus(row, false)
  if (accepts.includes(status)) return
  throw new Fault('WRONG_STATE', `the replica set is ${status}; this is possible when it is ${accepts.join(', ')}`)
}

// The changes that requests make. Each takes the row as it is and gives the columns that change.

export function resizedSet(row: ReplicaSetRow, size: SetSize): ReplicaSetChange {
  const generation = row.generation + 1
  return { ...size, generation, shape_generation: generation }
}

export function deletedSet(row: ReplicaSetRow, now: Date): ReplicaSetChange {
  return row.deleted ? { generation: row.generation + 1 } : { deleted_at: now, generation: row.generation + 1 }
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
export function poolerView(row: Pick<ReplicaSetRow, 'pooler' | 'addresses'>, vpc_id: number | null) {
  return row.pooler ? { connection_pooler: { endpoint: endpointOf(row, vpc_id, 'pooler') } } : {}
}

/** The view of a set for clients that know services only: its own service's view fills in the rest. */
export function setAsService(row: ReplicaSetRow, parent: Parent & { power: 'on' | 'off' }, service: Service): Service {
  const { id, name, cpu_millis, memory_gbs, endpoint, metadata, status, ...pooler } = replicaSetView(row, parent)
  // Its nodes are copies of the service, and may take as much.
  const { volume_type = 'unknown', disk_gbs } = service.resources[0]?.spec ?? {}
  const { connection_pooler } = pooler
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
    resources: [{ id, spec: { cpu_millis, memory_gbs, ...(disk_gbs !== undefined && { disk_gbs }), volume_type } }],
  }
}

export function wantedSetOf(row: ReplicaSetRow, vpc_id: number | null, service: WantedService): WantedReplicaSet {
  const { replica_set_id, generation, nodes, cpu_millis, memory_gbs } = row
  const wanted: WantedReplicaSet = {
    replica_set_id,
    generation,
    // With its service it goes, and before it.
    deleted: row.deleted || service.deleted,
    nodes,
    size: { cpu_millis, memory_gbs },
    endpoint: homeOf(row),
    service,
  }
  const network = networkOf(row, vpc_id)
  if (network !== undefined) wanted.network = network
  return row.pooler ? { ...wanted, pooler: homeOf(row, 'pooler') } : wanted
}
