// What something in the cell lacks, in words for its owner. Pure.
import type { Probe } from '../../postgres/probe.ts'
import type { ObservedReplicaSet, Size } from '../../provider.ts'
import type { Pod } from '../api/kinds.ts'
import { type Overcommit, resourcesOf } from '../sizes.ts'

export type Lack = { waiting_for: string; in_progress: boolean; failed?: true }

export const inProgress = (waiting_for: string | undefined): Lack | undefined =>
  waiting_for === undefined ? undefined : { waiting_for, in_progress: true }

/** While something is on its way; the watch calls for a pass at most changes anyway. */
const progress_seconds = 1
const setback_seconds = 5

/** What a pass has seen of it, and what it lacks. */
export function seenWith(state: ObservedReplicaSet['state'], lack: Lack | undefined): ObservedReplicaSet {
  if (lack === undefined) return { state, settled: true, events: [] }
  const look_again_seconds = lack.in_progress ? progress_seconds : setback_seconds
  return { state, settled: false, ...lack, look_again_seconds, events: [] }
}

export function hasResources({ spec }: Pod, size: Size, settings: Overcommit): boolean {
  const { resources } = spec.containers.find(({ name }) => name === 'postgres') ?? {}
  const wanted = resourcesOf(size, settings)
  return (['requests', 'limits'] as const).every((which) =>
    Object.entries(wanted[which]).every(([name, quantity]) => resources?.[which]?.[name] === quantity),
  )
}

export function probeLack(probed: Probe | undefined): Lack | undefined {
  if (probed === undefined) return inProgress('its nodes are starting')
  if (probed.result === 'other_password') return inProgress('its new password is not in force yet')
  if (probed.result === 'ok') return undefined
  return { waiting_for: `a login at its address fails: ${probed.reason}`, in_progress: true }
}
