// What keeps a Pod from running that no wait will mend, in words. Pure.
import type { Pod } from '../api/kinds.ts'
import type { Lack } from './lack.ts'

/** Reasons for which a container waits that are no normal step of a start. */
const troubles = [
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'CrashLoopBackOff',
  'CreateContainerConfigError',
]

export function podTrouble(pods: readonly Pod[]): Lack | undefined {
  const sentence = pods.map(troubleOf).find((one) => one !== undefined)
  return sentence === undefined ? undefined : { waiting_for: sentence, in_progress: false }
}

function troubleOf({ metadata, status }: Pod): string | undefined {
  const { conditions = [], containerStatuses = [], initContainerStatuses = [] } = status ?? {}
  const unscheduled = conditions.find((one) => one.type === 'PodScheduled' && one.reason === 'Unschedulable')
  if (unscheduled) return `no node takes ${metadata.name}: ${unscheduled.message ?? 'no reason was given'}`
  const waiting = [...initContainerStatuses, ...containerStatuses]
    .map(({ state }) => state?.waiting)
    .find((one) => one?.reason !== undefined && troubles.includes(one.reason))
  return waiting && `${metadata.name} does not start (${waiting.reason}): ${waiting.message ?? 'no reason was given'}`
}
