// A planned change of the primary, made once for each that was requested. Pure. The Pod that is to take over is written down before
// the operator is told, so a pass after a crash tells it the same; the change is written down as made when that Pod is the primary.
import type { WantedService } from '../../provider.ts'
import type { Cluster, Pod } from '../api/kinds.ts'
import { switching_annotation, switchovers_annotation } from '../names.ts'
import { instancesOf, isReady } from '../cluster/look.ts'

export type Switchover = {
  /** What the annotations of the Cluster say from now on. */
  annotations: Readonly<Record<string, string>>
  /** The Pod that the operator is to be told, if it does not know it. */
  target?: string
  waiting_for?: string
}

export function switchoverOf(
  { ha }: Pick<WantedService, 'ha'>,
  cluster: Cluster | undefined,
  pods: readonly Pod[],
): Switchover {
  const wanted = ha?.switchovers ?? 0
  if (cluster === undefined) return { annotations: madeOf(wanted) }
  const { annotations = {} } = cluster.metadata
  const made = Number(annotations[switchovers_annotation] ?? 0)
  if (made >= wanted) return { annotations: madeOf(made) }
  const { currentPrimary, targetPrimary } = cluster.status ?? {}
  const [number, begun] = (annotations[switching_annotation] ?? '').split(' ')
  const standbys = instancesOf(pods).filter((pod) => isReady(pod) && pod.metadata.name !== currentPrimary)
  const target = [begun, standbys[0]?.metadata.name].find((name) => standbys.some((pod) => pod.metadata.name === name))
  if (begun !== undefined && Number(number) === wanted && begun === currentPrimary)
    return { annotations: madeOf(wanted) }
  const waiting_for = 'another node is made the primary'
  if (begun !== undefined && begun === targetPrimary) return { annotations: both(made, wanted, begun), waiting_for }
  if (target === undefined) return { annotations: madeOf(made), waiting_for: 'no node is ready to become the primary' }
  return { annotations: both(made, wanted, target), target, waiting_for }
}

const madeOf = (made: number): Record<string, string> => (made === 0 ? {} : { [switchovers_annotation]: String(made) })

const both = (made: number, wanted: number, target: string) => ({
  ...madeOf(made),
  [switching_annotation]: `${wanted} ${target}`,
})

/** As `kubectl cnpg promote` writes it. */
export const promotionOf = (target: string, now: Date) => ({
  status: {
    targetPrimary: target,
    targetPrimaryTimestamp: now.toISOString().replace(/\.\d+Z$/, '.000000Z'),
    phase: 'Switchover in progress',
    phaseReason: `Switching over to ${target}`,
  },
})
