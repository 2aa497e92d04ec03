// The rules of services, pure: what a request may ask, which change it makes to the row, how a row looks to callers and
// to a provider. No await, no clock, no randomness: they come in as arguments.
import { Fault } from '#contract/fault.ts'
import type { Problem } from '#contract/problem.ts'
import { statusRefusal } from '#contract/refusal.ts'
import type { Service } from '#contract/service.ts'
import type { Addon } from '#contract/service-input.ts'
import { type Acceptable, creation_patience_seconds, type ServiceStatus, statusOf } from '#contract/service-status.ts'
import { default_size, parseSize, type Size, type SizeInput, sizeProblem } from '#contract/size.ts'
import { poolerLimitsOf } from '#providers/postgres/pooler-settings.ts'
import { connectionsOf } from '#providers/postgres/size.ts'
import type { Moment, ServiceSource, WantedExchange, WantedService } from '#providers/provider.ts'
import { poolerView, replicaSetView } from './replica-set-view.ts'
import { writtenPolicyOf } from '../snapshot/policy.ts'
import type { SnapshotRow } from '../snapshot/store.ts'
import { endpointOf, wantedAddressesOf } from '../address.ts'
import type { ExchangeRow } from './copies.ts'
import type { ServiceRow, WantedChange } from './store.ts'

export const services_per_project_max = 1000

export function parseSizeInput(
  input: SizeInput,
  allowed: { shared: boolean; otherwise?: Size },
  problems: Problem[],
): Size {
  const size = parseSize(input, allowed.otherwise ?? default_size, allowed.shared)
  if (size === undefined) problems.push(sizeProblem(input, allowed.shared))
  return size ?? default_size
}

export type Replicas = Pick<ServiceRow, 'replica_count' | 'sync_replica_count'>

export function replicaProblem({ replica_count, sync_replica_count }: Replicas): Problem | undefined {
  if (sync_replica_count <= replica_count) return undefined
  const message = `must be at most /replica_count; they are ${sync_replica_count} and ${replica_count}`
  return { path: '/sync_replica_count', message }
}

const extension_of_addon = { 'time-series': 'timescaledb', ai: 'vector' } as const satisfies Record<Addon, string>

export function extensionsOf(addons: readonly Addon[]): string[] {
  return [...new Set(addons)].sort().map((addon) => extension_of_addon[addon])
}

export function serviceTypeOf(addons: readonly Addon[]): ServiceRow['service_type'] {
  if (addons.includes('time-series')) return 'TIMESERIESDB'
  return addons.includes('ai') ? 'VECTOR' : 'POSTGRES'
}

export function sizeColumnsOf(size: Size): Pick<ServiceRow, 'cpu_millis' | 'memory_gbs'> {
  return size === 'shared' ? { cpu_millis: null, memory_gbs: null } : size
}

export function sizeOf(row: Pick<ServiceRow, 'cpu_millis' | 'memory_gbs'>): Size {
  const { cpu_millis, memory_gbs } = row
  return cpu_millis === null || memory_gbs === null ? 'shared' : { cpu_millis, memory_gbs }
}

export function rowStatus(row: ServiceRow, now: Date): ServiceStatus {
  const failing_ms = row.failing_since === null ? 0 : now.getTime() - row.failing_since.getTime()
  return statusOf({
    deleted: row.deleted_at !== null,
    power: row.power,
    power_generation: row.power_generation,
    shape_generation: row.shape_generation,
    settled_generation: row.settled_generation,
    state: row.state,
    out_of_patience: row.source_failed || failing_ms > creation_patience_seconds * 1000,
  })
}

export function requireStatus(row: ServiceRow, accepts: readonly Acceptable[], now: Date): void {
  const status = rowStatus(row, now)
  const is_stuck = status === 'CONFIGURING' && row.settled_generation > 0 && row.waiting_for !== null
  const refusal = statusRefusal(accepts, status, is_stuck)
  if (refusal !== undefined) throw new Fault('WRONG_STATE', refusal)
}

/** Where the making of a service has failed, there is nothing to copy or to go back in, and waiting for it has no end. */
export function requireMade(row: ServiceRow, now: Date): void {
  if (row.settled_generation > 0 || rowStatus(row, now) !== 'UNSTABLE') return
  throw new Fault('WRONG_STATE', 'the service never had data, and its events say why; delete it and make it anew')
}

// The changes that requests make. Each takes the row as it is and gives the columns that change.

/** Of anything that has to be made before it counts as ready again. Of a service or of a replica set. */
export function shapeChange<Columns>({ generation: before }: Pick<ServiceRow, 'generation'>, columns: Columns) {
  const generation = before + 1
  return { ...columns, generation, shape_generation: generation }
}

export function powerChange(row: ServiceRow, power: 'on' | 'off'): WantedChange {
  const generation = row.generation + 1
  return { power, generation, power_generation: generation }
}

export function passwordChange(row: ServiceRow, password_verifier: string): WantedChange {
  return { password_verifier, generation: row.generation + 1 }
}

export function exchangeChange(row: ServiceRow, exchange: Omit<ExchangeRow, 'generation'>): WantedChange {
  return shapeChange(row, { exchange: { ...exchange, generation: row.generation + 1 } })
}

/** keep_seconds: how long it can be restored. A service that never served has nothing to restore. */
export function deletionChange(row: ServiceRow, now: Date, keep_seconds: number): WantedChange {
  const generation = row.generation + 1
  if (row.deleted_at !== null) return { generation }
  const is_kept = keep_seconds > 0 && row.settled_generation > 0
  return { deleted_at: now, kept_until: is_kept ? new Date(now.getTime() + keep_seconds * 1000) : null, generation }
}

/** An end that came meanwhile does not come after all. */
export function restoreChange(row: ServiceRow, now: Date): WantedChange {
  const generation = row.generation + 1
  const expires_at = row.expires_at !== null && row.expires_at > now ? row.expires_at : null
  const power_generation = row.power === 'on' ? generation : row.power_generation
  return { deleted_at: null, kept_until: null, ended_at: null, expires_at, generation, power_generation }
}

export function purgeChange(row: ServiceRow): WantedChange {
  return { kept_until: null, generation: row.generation + 1 }
}

export function isProtected(row: Pick<ServiceRow, 'protected' | 'environment'>): boolean {
  return row.protected ?? row.environment === 'PROD'
}

/** What to do about it. */
export function unprotectSentence({ service_id }: Pick<ServiceRow, 'service_id'>): string {
  const command = `howdah service set-protection ${service_id} --protected no`
  return `setProtection {"protected": false} takes that back (${command})`
}

/** It is deleted, and not kept: nothing of it is to be left. No request takes that back. */
export function isToBeRemoved({ deleted_at, kept_until }: Pick<ServiceRow, 'deleted_at' | 'kept_until'>): boolean {
  return deleted_at !== null && kept_until === null
}

/** A service that is deleted and kept is stopped, and is not started for its removal. */
export function powerOf({ kept_until, ended_at, power }: Pick<ServiceRow, 'kept_until' | 'ended_at' | 'power'>) {
  return kept_until === null && ended_at === null ? power : 'off'
}

export function wantedOf(row: ServiceRow, snapshots: readonly SnapshotRow[]): WantedService {
  const wanted: WantedService = {
    service_id: row.service_id,
    project_id: row.project_id,
    generation: row.generation,
    deleted: isToBeRemoved(row),
    power: powerOf(row),
    size: sizeOf(row),
    extensions: row.extensions,
    password_verifier: row.password_verifier,
    ...wantedAddressesOf(row, row.vpc_id),
    made: row.settled_generation > 0,
    // A new service serves first; its snapshots are for the next pass.
    snapshots:
      row.settled_generation === 0
        ? []
        : snapshots
            .filter(({ awaits_fork }) => !awaits_fork)
            .map(({ snapshot_id, deleted_at }) => ({ snapshot_id, deleted: deleted_at !== null })),
  }
  const { replica_count, sync_replica_count, switchovers } = row
  if (replica_count > 0) wanted.ha = { replica_count, sync_replica_count, switchovers }
  if (row.source_service_id !== null) wanted.source = { service_id: row.source_service_id, moment: momentOf(row) }
  if (row.mask !== null) wanted.mask = row.mask
  if (row.exchange !== null) wanted.exchange = wantedExchangeOf(row.exchange)
  return wanted
}

function wantedExchangeOf({ exchange_id, service_id, at, kept_as }: ExchangeRow): WantedExchange {
  const source: ServiceSource = { service_id, moment: at === undefined ? 'now' : { at } }
  return { exchange_id, source, ...(kept_as !== undefined && { kept_as }) }
}

function momentOf({ source_strategy, source_snapshot_id, source_time }: ServiceRow): Moment {
  if (source_snapshot_id !== null) return { snapshot_id: source_snapshot_id }
  return source_strategy === 'PITR' && source_time !== null ? { at: source_time } : 'now'
}

/** As its settings say it. */
function poolerLimits(max_connections: number) {
  const { servers, clients } = poolerLimitsOf(max_connections)
  return { max_client_connections: clients, pool_size: servers }
}

/** What its region says of a service of its size. */
export type Volume = { volume_type: string; disk_gbs?: number | undefined }

export function serviceView(row: ServiceRow, { now, volume_type, disk_gbs }: Volume & { now: Date }): Service {
  const size = sizeOf(row)
  const volume = { ...(disk_gbs !== undefined && { disk_gbs }), volume_type }
  const status = rowStatus(row, now)
  const policy = writtenPolicyOf(row)
  const is_at_rest = status === 'READY' || status === 'PAUSED'
  const view: Service = {
    service_id: row.service_id,
    project_id: row.project_id,
    name: row.name,
    created: row.created.toISOString(),
    protected: isProtected(row),
    ...(row.expires_at !== null && { expires_at: row.expires_at.toISOString() }),
    region_code: row.region_code,
    service_type: row.service_type,
    ...(row.postgres_version !== null && { postgres_version: row.postgres_version }),
    status,
    ...(row.waiting_for !== null && !is_at_rest && { status_reason: row.waiting_for }),
    endpoint: endpointOf(row, row.vpc_id),
    ...poolerView(row, row.vpc_id, poolerLimits(connectionsOf(size))),
    ha_replicas: { replica_count: row.replica_count, sync_replica_count: row.sync_replica_count },
    ...(policy && { snapshot_policy: policy }),
    metadata: { environment: row.environment },
    read_replica_sets: row.replica_sets.map((set) => replicaSetView(set, row)),
    resources: [
      {
        id: row.service_id,
        spec: { ...(size === 'shared' ? {} : size), max_connections: connectionsOf(size), ...volume },
      },
    ],
  }
  if (row.vpc_id !== null) {
    view.vpcEndpoint = { ...view.endpoint, vpc_id: String(row.vpc_id) }
    view.vpc_endpoint = view.vpcEndpoint
  }
  if (row.source_service_id !== null && row.source_project_id !== null) {
    view.forked_from = { is_standby: false, project_id: row.source_project_id, service_id: row.source_service_id }
  }
  return view
}
