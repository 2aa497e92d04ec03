// The read replica sets of a service that a file describes, and the steps to them. Pure.
import type { ReadReplicaSet } from '#contract/replica-set.ts'
import { parseSize } from '#contract/size.ts'
import { UsageError } from '../command.ts'
import type { Step } from './apply-step.ts'

export type WantedSet = {
  name: string
  nodes?: number
  cpu_millis?: number | string
  memory_gbs?: number | string
  pooler?: boolean
}

export const set_members = ['name', 'nodes', 'cpu_millis', 'memory_gbs', 'pooler'] as const

export function setSteps(
  service: string,
  wanted: readonly WantedSet[],
  sets: readonly ReadReplicaSet[],
  is_pruned: boolean,
): Step[] {
  const there = sets.filter(({ status }) => status !== 'deleting')
  const unwanted = there.filter(({ name }) => !wanted.some((one) => one.name === name))
  return [
    ...wanted.flatMap((one) => stepsFor(service, one, there)),
    ...(is_pruned ? unwanted : []).map(({ name }): Step => ({
      endpoint: 'deleteReplicaSet',
      service,
      replica_set: name,
      line: `- replica set ${name} of ${service}`,
      is_risky: true,
    })),
  ]
}

function stepsFor(service: string, wanted: WantedSet, sets: readonly ReadReplicaSet[]): Step[] {
  const { name, pooler, nodes = 1 } = wanted
  const what = `replica set ${name} of ${service}`
  const of_set = { service, replica_set: name }
  const size = parseSize(wanted, 'shared', true)
  if (size === undefined) throw new UsageError(`${what}: there is no such size`)
  const named = sets.filter((one) => one.name === name)
  if (named.length > 1) throw new UsageError(`${what}: there are ${named.length} of this name; names are keys here`)
  const [set] = named
  const steps: Step[] = []
  if (set === undefined) {
    if (size === 'shared') throw new UsageError(`${what}: cpu_millis is missing, and a set has no size shared`)
    const line = `+ ${what}`
    steps.push({ endpoint: 'createReplicaSet', ...of_set, body: { name, nodes, ...size }, line, is_risky: false })
  } else {
    if (wanted.nodes !== undefined && wanted.nodes !== set.nodes) {
      throw new UsageError(`${what}: it has ${set.nodes} nodes, which cannot be changed; delete it first`)
    }
    if (size !== 'shared' && size.cpu_millis !== set.cpu_millis) {
      const line = `~ ${what}: ${set.cpu_millis} → ${size.cpu_millis} milli-cores, which restarts its nodes`
      steps.push({ endpoint: 'resizeReplicaSet', ...of_set, body: size, line, is_risky: true })
    }
  }
  const has_pooler = set?.connection_pooler !== undefined
  if (pooler !== undefined && pooler !== has_pooler) {
    const endpoint = pooler ? 'enableReplicaSetPooler' : 'disableReplicaSetPooler'
    const line = `~ ${what}: connection pooler ${pooler ? 'on' : 'off'}`
    steps.push({ endpoint, ...of_set, line, is_risky: !pooler })
  }
  return steps
}
