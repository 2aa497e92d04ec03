// A service of a copy elsewhere, put in place on this host: its snapshot, its archive, and a data directory that its next pass lets
// recover to the end of the WAL, or to a moment, as a fork does. Every file is moved or made aside; the last move is that of the data, so
// a restore that is killed is repeated.
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { FetchedService, RestoredService } from '../../provider.ts'
import { statIfThere } from '../../host/read.ts'
import { ensureFolder } from '../host/effect.ts'
import { nodeOf, type Node } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { readControl } from '../postgres/control-file.ts'
import { ensureHome } from '../postgres/data-directory.ts'
import { putDataInPlace } from '../postgres/data-in-place.ts'
import { copyData } from '../snapshot/fetched-data.ts'
import { isThrough } from '../snapshot/periods.ts'
import { readSnapshot } from '../snapshot/stored.ts'
import { readExchange, saveExchange } from '../wal/left.ts'
import { findStagedPath, stagedIn } from '../wal/staged-wal.ts'

export async function restoreService(host: Machine, restored: RestoredService): Promise<string | undefined> {
  const { effect, directory, as_root } = host
  const { snapshot_folder, wal_folder, at } = restored
  const node = nodeOf(directory, restored.service_id, restored.port, as_root)
  let gap: string | undefined
  if (!(await statIfThere(node.data))) {
    const facts = await readSnapshot(snapshot_folder)
    if (facts === undefined) throw new Error(`the snapshot ${restored.snapshot_id} in the backup is not whole`)
    await ensureHome(effect, node)
    await putLeft(host, node, restored)
    const source = { facts, snapshot_data: join(snapshot_folder, 'data'), wal_folder }
    gap = await copyData(host, node, { ...source, keep: false, at })
    await putDataInPlace(effect, node, 'restore')
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

/** Which timelines it had left by then: its moments before are found there. */
async function putLeft({ effect }: Machine, node: Node, { wal_folder, at }: RestoredService): Promise<void> {
  const last = await readExchange(stagedIn(wal_folder))
  const left = last?.left.filter(({ until }) => at === undefined || new Date(until) < new Date(at)) ?? []
  if (last && left.length > 0) await saveExchange(effect, node, { exchange_id: last.exchange_id, state: 'done', left })
}

export async function leadsOn(fetched: FetchedService, at: string | undefined): Promise<boolean> {
  const { snapshot_folder, wal_folder } = fetched
  const facts = await readSnapshot(snapshot_folder)
  // The step that uses the snapshot tells that it is not whole.
  if (facts === undefined) return true
  const { segment_bytes, timeline } = await readControl(join(snapshot_folder, 'data'))
  return isThrough(await findStagedPath(wal_folder, { own: timeline, at }), facts, segment_bytes)
}
