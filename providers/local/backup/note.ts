// Notes the checksums of what is at rest, soon after it is made: archived WAL and snapshots of every service of this host.
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { statIfThere } from '../../host/read.ts'
import type { Node } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { findService } from '../postgres/nodes.ts'
import { listComplete } from '../snapshot/stored.ts'
import { walPositionOf } from '../wal/wal.ts'
import { noteSums, overStaged } from './checksums.ts'
import { listHomes } from './homes.ts'
import { mirrorService, type Staged } from './stage.ts'

/** Where the checksums of a snapshot are, or those of the archive. */
export const sumsIn = (node: Node, of: string) => join(node.backup, `${of}.crc`)

export async function noteAll(host: Machine, staged: Staged, signal: AbortSignal): Promise<void> {
  for (const service_id of await listHomes(host)) {
    if (signal.aborted) return
    // A service may be removed meanwhile; what fails here is noted the next time.
    await noteService(host, service_id, staged, signal).catch(() => undefined)
  }
}

async function noteService(host: Machine, service_id: string, staged: Staged, signal: AbortSignal): Promise<void> {
  const node = await findService(host.directory, service_id, host.as_root)
  if (node === undefined || !(await statIfThere(node.archive)) || !(await statIfThere(node.snapshots))) return
  const folder = await mirrorService(host, node, staged)
  const first = (await readdir(folder)).map(walPositionOf).toSorted()[0] ?? ''
  // Pruned files were before all others.
  const isNeeded = (name: string) => walPositionOf(name) >= first
  const sums = sumsIn(node, 'archive')
  await overStaged(folder, signal, (either) => noteSums({ folder, sums, isNeeded, signal: either }))
  const complete = await listComplete(node)
  for (const { snapshot_id } of complete) {
    const sums = sumsIn(node, snapshot_id)
    if (await statIfThere(sums)) continue
    await noteSums({ folder: join(node.snapshots, snapshot_id), sums, isNeeded: () => true, signal })
  }
  const kept = new Set(['archive', ...complete.map((one) => one.snapshot_id)])
  for (const name of await readdir(node.backup)) {
    // Earlier versions noted sums of another kind.
    const [, id = '', kind] = /^(\w+)\.(crc|sums)$/.exec(name) ?? []
    if (kind === 'sums' || (kind === 'crc' && !kept.has(id))) await rm(join(node.backup, name), { force: true })
  }
}
