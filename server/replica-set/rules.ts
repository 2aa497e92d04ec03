// The rules of read replica sets, pure: what a request may ask, which change it makes to the row, how a row looks to
// a provider.
import { Fault } from '#contract/fault.ts'
import type { Problem } from '#contract/problem.ts'
import { nodes_max } from '#contract/replica-set.ts'
import type { ReplicaSetStatus } from '#contract/replica-set-status.ts'
import { parseSize, type Size, type SizeInput, sizeProblem, sizes } from '#contract/size.ts'
import type { WantedReplicaSet, WantedService } from '#providers/provider.ts'
import { setStatus } from '../service/replica-set-view.ts'
import { wantedAddressesOf } from '../address.ts'
import type { ReplicaSetChange, ReplicaSetRow } from '../service/replica-sets.ts'

export const sets_per_service_max = 4

type SetSize = { cpu_millis: number; memory_gbs: number }

export function parseNodes(nodes: number | string, problems: Problem[]): number {
  const count = /^\d{1,2}$/.test(String(nodes)) ? Number(nodes) : 0
  if (count < 1 || count > nodes_max) problems.push({ path: '/nodes', message: `must be 1 to ${nodes_max}` })
  return count
}

/** A size of its own, not its service's: a node of a set does not share. */
export function parseSetSize(input: SizeInput, problems: Problem[], otherwise: Size = sizes[0]): SetSize {
  const size = parseSize(input, otherwise, false)
  if (size === 'shared') return sizes[0]
  if (size !== undefined) return size
  problems.push(sizeProblem(input, false))
  return sizes[0]
}

export function requireSetStatus(row: ReplicaSetRow, accepts: readonly ReplicaSetStatus[]): void {
  const status = setStatus(row, false)
  if (accepts.includes(status)) return
  throw new Fault('WRONG_STATE', `the replica set is ${status}; this is possible when it is ${accepts.join(', ')}`)
}

export function setDeletionChange(row: ReplicaSetRow, now: Date): ReplicaSetChange {
  return row.deleted ? { generation: row.generation + 1 } : { deleted_at: now, generation: row.generation + 1 }
}

export function wantedSetOf(row: ReplicaSetRow, vpc_id: number | null, service: WantedService): WantedReplicaSet {
  const { replica_set_id, generation, nodes, cpu_millis, memory_gbs } = row
  return {
    replica_set_id,
    generation,
    // With its service it goes, and before it.
    deleted: row.deleted || service.deleted,
    nodes,
    size: { cpu_millis, memory_gbs },
    ...wantedAddressesOf(row, vpc_id),
    service,
  }
}
