// The processes in the control groups of a service, and a kill of all of them at once where the kernel has one. A process cannot leave
// the groups in which it was started unless their files are its user's, so for root this is exact, whatever a process calls itself
// and wherever it hides.
import { readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { textOrNothing } from '../../host/read.ts'
import type { Hierarchy } from './limits.ts'

/** The groups of a service or a replica set by their names: of its nodes, its pooler, its balancer. */
export function groupsOf(hierarchy: Hierarchy, service_id: string): string[] {
  const names = hierarchy.parents.flatMap((parent) => foldersIn(parent)).map((path) => basename(path))
  return [...new Set(names)].filter((name) => name === service_id || name.startsWith(`${service_id}-`))
}

/** The ids of their processes. */
export function membersOf(hierarchy: Hierarchy, group: string): number[] {
  const lists = foldersOf(hierarchy, group).map((folder) => textOrNothing(join(folder, 'cgroup.procs')))
  return [...new Set(lists.flatMap((text) => text.split('\n').filter(Boolean).map(Number)))]
}

/** Kills all of them in one step, also those that are being forked. Version 1, and kernels before 5.14, have no such step. */
export function killMembers(hierarchy: Hierarchy, group: string): void {
  if (hierarchy.version === 1) return
  for (const parent of hierarchy.parents) {
    try {
      writeFileSync(join(parent, group, 'cgroup.kill'), '1')
    } catch {
      // Then they are killed one by one.
    }
  }
}

/** Groups that were made inside, by a process whose user may; empty ones. */
export function removeInner(hierarchy: Hierarchy, group: string): void {
  const own = hierarchy.parents.map((parent) => join(parent, group))
  const inner = foldersOf(hierarchy, group).filter((folder) => !own.includes(folder))
  for (const folder of inner.toReversed()) {
    try {
      rmdirSync(folder)
    } catch {
      // It is in use, or was removed by another server.
    }
  }
}

/** Parents before their children. */
function foldersOf(hierarchy: Hierarchy, group: string): string[] {
  const withInner = (folder: string): string[] => [folder, ...foldersIn(folder).flatMap(withInner)]
  return hierarchy.parents.flatMap((parent) => withInner(join(parent, group)))
}

function foldersIn(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map((entry) => join(path, entry.name))
  } catch {
    return []
  }
}
