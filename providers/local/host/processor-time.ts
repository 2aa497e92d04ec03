// How much processor time a node's processes have used: what cannot have written anything needs no walk over its files.
import { groupOf, type Node } from './layout.ts'
import type { Limits } from './limits.ts'
import { usageOfGroup, usageOfProcesses } from './usage.ts'

export type ProcessorTime = (node: Node, pid: number) => number | undefined

/** Undefined when its processes are gone. */
export function newProcessorTime({ hierarchy }: Pick<Limits, 'hierarchy'>): ProcessorTime {
  return (node, pid) => ((hierarchy && usageOfGroup(hierarchy, groupOf(node))) ?? usageOfProcesses(pid))?.cpu_ns
}
