// What this host has of services that can be copied off it.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { StagedSnapshot } from '../../provider.ts'
import { statIfThere } from '../../host/read.ts'
import { foldersOf } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { findService } from '../postgres/nodes.ts'
import { listComplete } from '../snapshot/stored.ts'

export async function listStagedSnapshots(host: Machine): Promise<StagedSnapshot[]> {
  const found: StagedSnapshot[] = []
  for (const service_id of await listHomes(host)) {
    const node = await findService(host.directory, service_id, host.as_root)
    if (node === undefined || !(await statIfThere(node.snapshots))) continue
    for (const { snapshot_id, taken_at } of await listComplete(node)) {
      found.push({ service_id, snapshot_id, taken_at, folder: join(node.snapshots, snapshot_id) })
    }
  }
  return found
}

export async function listHomes({ directory }: Machine): Promise<string[]> {
  return (await readdir(foldersOf(directory).services)).filter((name) => !name.includes('.'))
}
