// A service of a copy elsewhere, put in place on this host: its snapshot, its archive, and a data directory that its next pass lets
// recover to the end of the WAL, or to a moment, as a fork does. Every file is moved or made aside; the last move is that of the data, so
// a restore that is killed is repeated.
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { RestoredService } from '../../provider.ts'
import { statIfThere } from '../../host/read.ts'
import { ensureFolder } from '../host/effect.ts'
import { nodeOf, type Node } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { ensureHome } from '../postgres/data-directory.ts'
import { putDataInPlace } from '../postgres/data-in-place.ts'
import { copyData, type DataSource } from '../snapshot/fetched-data.ts'
import { readSnapshot } from '../snapshot/snapshot.ts'

export async function restoreService(host: Machine, restored: RestoredService): Promise<string | undefined> {
  const { effect, directory, as_root } = host
  const { snapshot_folder, wal_folders } = restored
  const node = nodeOf(directory, restored.service_id, restored.port, as_root)
  let gap: string | undefined
  if (!(await statIfThere(node.data))) {
    const facts = await readSnapshot(snapshot_folder)
    if (facts === undefined) throw new Error(`the snapshot ${restored.snapshot_id} in the backup is not whole`)
    await ensureHome(effect, node)
    const source = { facts, snapshot_data: join(snapshot_folder, 'data'), keep: false, at: restored.at }
    gap = await makeData(host, node, { ...source, wal_folders: [wal_folders.archive, wal_folders.partial] })
  }
  await ensureFolder(effect, 'snapshots', node.snapshots, 0o700)
  const own = join(node.snapshots, restored.snapshot_id)
  // The last move: a restore that is repeated knows by it that there is nothing left to do.
  if (!(await statIfThere(own))) {
    await effect('restore: snapshot')
    await rename(snapshot_folder, own)
  }
  return gap === undefined ? undefined : `the WAL file ${gap} of ${node.service_id} is not in the backup`
}

/** A data directory in place. Returns the first WAL file that is missing on the way, up to which it recovers. */
export async function makeData(host: Machine, node: Node, source: DataSource): Promise<string | undefined> {
  const gap = await copyData(host, node, source)
  await putDataInPlace(host.effect, node, 'restore')
  return gap
}
