// What a service takes of the disk, as its quota counts it: by the kernel's own books where it keeps some, else by a walk
// over its files. Snapshots do not count: how many there are is for the control plane to say, and they share most blocks.
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
