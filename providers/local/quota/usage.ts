// How much of the disk a service takes, as its quota counts it: by the kernel's own counts where there are some, else by a walk
// over its files. Snapshots do not count: the control plane decides how many there are, and they share most blocks.
import type { Node } from '../host/layout.ts'
import { storageOf } from '../host/storage.ts'
import type { Projects } from './project.ts'
import type { Used } from './rules.ts'

export async function measureService(projects: Projects | undefined, node: Node): Promise<Used> {
  return (
    projects?.usedBy(node) ?? {
      data_bytes: await storageOf(node.data),
      archive_bytes: await storageOf(node.archive),
    }
  )
}
