// How much processor time a node's processes have used: a node that used none cannot have written, and its files need no walk.
import { groupOf, type Node } from './layout.ts'
import type { Limits } from './limits.ts'
import { usageOfGroup, usageOfProcesses } from './usage.ts'

export type ProcessorTime = (node: Node, pid: number) => number | undefined

/** Undefined when no process is left. */
export function newProcessorTime({ hierarchy }: Pick<Limits, 'hierarchy'>): ProcessorTime {
  return (node, pid) => ((hierarchy && usageOfGroup(hierarchy, groupOf(node))) ?? usageOfProcesses(pid))?.cpu_ns
}
