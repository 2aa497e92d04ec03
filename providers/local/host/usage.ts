// What the processes of a service use: from its control groups where it has them, else summed over its processes. Only
// reads small files of the kernel, synchronously: each takes microseconds, and a thread for each would cost more.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { textOrNothing } from '../../host/read.ts'
import type { Hierarchy } from './limits.ts'

/** `cpu_ns` only rises, but starts anew with the processes or their group. */
export type Usage = { cpu_ns: number; memory_bytes: number }

/** Undefined when no such group counts. */
export function usageOfGroup(hierarchy: Hierarchy, service_id: string): Usage | undefined {
  const read = (directory: string, file: string) => textOrNothing(join(directory, service_id, file))
  const { cpu, memory } = hierarchy.directories
  // Most services lack some of the groups, and a failed read is dear.
  if (!existsSync(join(cpu, service_id))) return undefined
  if (hierarchy.version === 2) {
    const used = read(cpu, 'cpu.stat')
    if (used === '') return undefined
    const inactive = fieldOf(read(memory, 'memory.stat'), 'inactive_file')
    return usage(Number(fieldOf(used, 'usage_usec')) * 1000, Number(read(memory, 'memory.current')) - Number(inactive))
  }
  let counted = ''
  // The last parent is cpuacct's, unless all are the same.
  for (const parent of hierarchy.parents.toReversed()) counted ||= read(parent, 'cpuacct.usage')
  if (counted === '') return undefined
  // Memory that the kernel would give back at once is not in use: files read long ago.
  const inactive = fieldOf(read(memory, 'memory.stat'), 'total_inactive_file')
  return usage(Number(counted), Number(read(memory, 'memory.usage_in_bytes')) - Number(inactive))
}

/** Of a postmaster and its children; undefined when it does not run. */
export function usageOfProcesses(postmaster: number): Usage | undefined {
  const own = textOrNothing(`/proc/${postmaster}/stat`)
  if (own === '') return undefined
  const children = textOrNothing(`/proc/${postmaster}/task/${postmaster}/children`).split(' ').filter(Boolean)
  // With the time of exited children, which only their parent knows.
  let ticks = ticksOf(own, 4)
  let anonymous_kb = 0
  let shared_kb = 0
  for (const pid of [String(postmaster), ...children]) {
    if (pid !== String(postmaster)) ticks += ticksOf(textOrNothing(`/proc/${pid}/stat`), 2)
    const status = textOrNothing(`/proc/${pid}/status`)
    anonymous_kb += Number(fieldOf(status, 'RssAnon:'))
    // All of them map the same shared memory, so the largest share is the best estimate.
    shared_kb = Math.max(shared_kb, Number(fieldOf(status, 'RssShmem:')))
  }
  return usage(ticks * ns_per_tick, (anonymous_kb + shared_kb) * 1024)
}

/** The kernel's unit in /proc, on every Linux that there is. */
const ns_per_tick = 10_000_000

function usage(cpu_ns: number, memory_bytes: number): Usage | undefined {
  if (!Number.isFinite(cpu_ns) || !Number.isFinite(memory_bytes)) return undefined
  return { cpu_ns, memory_bytes: Math.max(0, memory_bytes) }
}

/** User and system time, and with `count` 4 those of the children that were waited for. */
function ticksOf(stat: string, count: 2 | 4): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 11 + count).reduce((sum, field) => sum + Number(field || 0), 0)
}

/** The number after a name at the start of a line, as text; '0' without such a line. */
function fieldOf(text: string, name: string): string {
  const at = text.startsWith(name) ? 0 : text.indexOf(`\n${name}`) + 1
  if (at === 0 && !text.startsWith(name)) return '0'
  return /\d+/.exec(text.slice(at + name.length, at + name.length + 40))?.[0] ?? '0'
}
