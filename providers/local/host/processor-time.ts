// How much processor time a node's processes have used: what cannot have written anything needs no walk over its files.
import { groupOf, type Place } from './layout.ts'
import type { Limits } from './limits.ts'
import { usageOfGroup, usageOfProcesses } from './usage.ts'

export type ProcessorTime = (place: Place, pid: number) => number | undefined

/** Undefined when its processes are gone. */
export function newProcessorTime({ hierarchy }: Pick<Limits, 'hierarchy'>): ProcessorTime {
  return (place, pid) => ((hierarchy && usageOfGroup(hierarchy, groupOf(place))) ?? usageOfProcesses(pid))?.cpu_ns
}
