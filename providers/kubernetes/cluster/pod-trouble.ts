// What keeps a Pod from running, in words for the owner of what it runs. Pure.
import type { Pod } from '../api/kinds.ts'
import { quantityOf } from '../sizes.ts'
import { inProgress, type Lack } from './lack.ts'

/** Reasons for which a container waits that are no normal step of a start. */
const troubles = [
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'CrashLoopBackOff',
  'CreateContainerConfigError',
]

/** A setback is told before a normal step. */
export function podTrouble(pods: readonly Pod[]): Lack | undefined {
  const lacks = pods.flatMap((pod) => placeLack(pod) ?? startLack(pod) ?? [])
  return lacks.find(({ in_progress }) => !in_progress) ?? lacks[0]
}

/** The scheduler has found no node for it. */
export const isUnplaced = (pod: Pod): boolean => unscheduledOf(pod) !== undefined

const unscheduledOf = ({ status }: Pod) =>
  status?.conditions?.find((one) => one.type === 'PodScheduled' && one.reason === 'Unschedulable')

function placeLack(pod: Pod): Lack | undefined {
  const unscheduled = unscheduledOf(pod)
  if (unscheduled === undefined) return undefined
  const reasons = reasonsIn(unscheduled.message ?? 'no reason was given')
  if (/persistentvolumeclaim/i.test(reasons)) return inProgress('its volume is not there yet')
  const { name } = pod.metadata
  const needs = needsOf(pod).filter(({ resource }) => reasons.includes(`Insufficient ${resource}`))
  if (needs.length === 0) return { waiting_for: `no node of the region takes ${name}: ${reasons}`, in_progress: false }
  const free = needs.map(({ words }) => words).join(' and ')
  const help = 'it starts when one has: stop or delete other services, or add a node to the cluster'
  return { waiting_for: `no node of the region has ${free} free for ${name}; ${help}`, in_progress: false }
}

/** Without what the scheduler adds on Pods that might have made place: Pods of services never make place for each other. */
const reasonsIn = (message: string) => message.split(/\.? (?:no new claims to deallocate, )?preemption: /)[0] ?? message

function needsOf({ spec }: Pod) {
  const sumOf = (resource: string) =>
    spec.containers.reduce((sum, { resources }) => sum + quantityOf(resources?.requests?.[resource] ?? '0'), 0)
  return [
    { resource: 'cpu', words: `${Math.round(sumOf('cpu') * 1000)} milli-cores` },
    { resource: 'memory', words: `${Math.round((sumOf('memory') / 2 ** 30) * 100) / 100} GB of memory` },
  ]
}

function startLack({ metadata, status }: Pod): Lack | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = status ?? {}
  const waiting = [...initContainerStatuses, ...containerStatuses]
    .map(({ state }) => state?.waiting)
    .find((one) => one?.reason !== undefined && troubles.includes(one.reason))
  if (waiting === undefined) return undefined
  const { reason, message = 'no reason was given' } = waiting
  return { waiting_for: `${metadata.name} does not start (${reason}): ${message}`, in_progress: false }
}
