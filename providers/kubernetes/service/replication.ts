// How the replicas of a service follow, in the words of its primary: the operator says of a replica only that its Pod is ready.
import type { WantedService } from '../../provider.ts'
import type { Cell } from '../cell.ts'
import { inProgress, type Lack } from '../cluster/lack.ts'
import type { Look } from '../cluster/look.ts'
import { readStatus } from '../cluster/status.ts'
import { wantedCounts } from './counts.ts'

/** Of the nodes that can take over: how many stream, and for how many of these a commit may wait. */
export type Replication = { streaming: number; synchronous: number }

/** Undefined: its primary could not be asked. */
export async function readReplication(cell: Pick<Cell, 'client'>, look: Look): Promise<Replication | undefined> {
  const text = look.cluster && (await readStatus(cell, look))
  return text === undefined ? undefined : replicationOf(text, look.cluster?.metadata.name ?? '')
}

/** Pure. Standbys of replica sets have another name. */
export function replicationOf(status: string, cluster: string): Replication {
  // What the instance manager of the operator says; missing members are none.
  const { replicationInfo = [] } = JSON.parse(status) as { replicationInfo?: readonly Standby[] | null }
  const own = (replicationInfo ?? []).filter(
    ({ applicationName, state }) => applicationName?.startsWith(`${cluster}-`) && state === 'streaming',
  )
  const synchronous = own.filter(({ syncState }) => syncState === 'quorum' || syncState === 'sync').length
  return { streaming: own.length, synchronous }
}

type Standby = { applicationName?: string; state?: string; syncState?: string }

export function replicationLack(
  wanted: Pick<WantedService, 'ha'>,
  replication: Replication | undefined,
): Lack | undefined {
  const { instances, sync } = wantedCounts(wanted)
  if (instances === 1) return undefined
  if (replication === undefined) return inProgress('its primary was not asked for its replicas yet')
  if (replication.streaming < instances - 1) return inProgress('a replica does not follow the primary yet')
  const holds = sync === 0 ? replication.synchronous === 0 : replication.synchronous >= sync
  return holds ? undefined : inProgress('commits do not wait for the wanted number of replicas yet')
}
