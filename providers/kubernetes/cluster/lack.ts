// What something in the cell lacks, in words for its owner. Pure.
import type { Probe } from '../../postgres/probe.ts'
import type { Size } from '../../provider.ts'
import type { Pod } from '../api/kinds.ts'
import { type Overcommit, resourcesOf } from '../sizes.ts'

export type Lack = { waiting_for: string; in_progress: boolean; failed?: true }

export const inProgress = (waiting_for: string | undefined): Lack | undefined =>
  waiting_for === undefined ? undefined : { waiting_for, in_progress: true }

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
