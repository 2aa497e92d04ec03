// A service of a copy elsewhere, put in place on this host: its snapshot, its archive, and a data directory that its next pass lets
// recover to the end of the WAL, or to a moment, as a fork does. Every file is moved or made aside; the last move is that of the data, so
// a restore that is killed is repeated.
import { closeSync, constants, lchownSync, readdirSync, truncateSync } from 'node:fs'
import { copyFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { RestoredService } from '../../provider.ts'
import { statIfThere } from '../../host/read.ts'
import type { Owner } from '../../host/user-map.ts'
import { copyTree } from '../host/copy-tree.ts'
import { ensureFolder, ensureRemoved } from '../host/effect.ts'
import { nodeOf, type Node } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { openFolder, pathOf, replaceFile } from '../host/tenant-files.ts'
import { syncOne, syncTree } from '../host/tree.ts'
import { readControl } from '../postgres/control-file.ts'
import { ensureHome } from '../postgres/data-directory.ts'
import type { ClusterCopy } from '../snapshot/cluster-copy.ts'
import { readSnapshot } from '../snapshot/snapshot.ts'
import { replaySettings, savePlan } from '../wal/replay.ts'
import { findPathTo, firstGap, type Path } from '../wal/timeline.ts'
import { isHistory, listSegments, timelineOf, walNames } from '../wal/wal.ts'

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

export type DataSource = {
  facts: ClusterCopy
  snapshot_data: string
  wal_folders: readonly string[]
  /** Whole files stay where they are; else they are moved into the node's archive. */
  keep: boolean
  at?: string | undefined
  /** Aborts the copy. */
  signal?: AbortSignal
}

/** A data directory that recovers when it is started. Returns the first WAL file that is missing on the way, up to which it recovers. */
export async function makeData(host: Machine, node: Node, source: DataSource): Promise<string | undefined> {
  const { effect } = host
  const { facts, at } = source
  await ensureRemoved(effect, 'unfinished data directory', node.data_aside)
  await effect('restore: copy snapshot')
  await copyTree(source.snapshot_data, node.data_aside, {
    of_tenant: 'out of its reach',
    keep_reserve: true,
    ...(node.owner && { owner: node.owner }),
    ...(source.signal && { signal: source.signal }),
  })
  const { segment_bytes, timeline } = await readControl(source.snapshot_data)
  await gather(host, node, source, segment_bytes)
  const path = pathTo(node, timeline)
  const needed = await listSegments({ folder: node.restore, below: '' }, facts.start_wal_file)
  // PostgreSQL makes links to them, which the system permits their owner only.
  if (node.owner) giveAll(node.restore, node.owner)
  const reach = `what can be restored begins at ${facts.taken_at.toISOString()} and ends at {until}`
  const last_wal_file = needed.at(-1)?.name ?? facts.start_wal_file
  await savePlan(effect, node, { source_ran: false, path, last_wal_file, reach, target_time: at ?? 'the end' })
  await replaceFile(node.data_aside, 'recovery.signal', '', node)
  await replaceFile(node.data_aside, 'postgresql.auto.conf', replaySettings(node, path, at), node)
  if (node.owner) lchownSync(node.data_aside, node.owner.uid, node.owner.gid)
  await effect('restore: make durable')
  await syncTree(node.data_aside)
  await effect('restore: rename into place')
  await rename(node.data_aside, node.data)
  await syncOne(node.home)
  return firstGap(needed, facts.start_wal_file, path)
}

/** The archive gets its files back, and the replay copies of all: PostgreSQL writes into those. */
async function gather({ effect }: Machine, node: Node, { wal_folders, keep }: DataSource, segment_bytes: number) {
  const { owner } = node
  await ensureFolder(effect, 'gathered WAL', node.restore, owner ? 0o710 : 0o700, owner && { uid: 0, gid: owner.gid })
  const archive = openFolder(node.archive)
  try {
    for (const folder of wal_folders) {
      for (const name of namesIn(folder)) {
        const [from, copy] = [join(folder, name), join(node.restore, name)]
        await copyFile(from, copy, constants.COPYFILE_FICLONE)
        // The last file was cut where it was flushed; PostgreSQL wants whole ones.
        const whole = isHistory(name) || (await statIfThere(copy))?.size === segment_bytes
        if (!whole) truncateSync(copy, segment_bytes)
        // The file that is not finished is continued on the next timeline, and archived with that.
        if (keep || !whole) continue
        if (owner) lchownSync(from, owner.uid, owner.gid)
        await effect('restore: WAL file')
        await rename(from, `${pathOf(archive)}/${name}`)
      }
    }
  } finally {
    closeSync(archive)
  }
  // Copies have the user of their source, and those of an attempt that was killed may have been handed over already.
  giveAll(node.restore, { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 })
}

/** In a folder of ours. */
function giveAll(folder: string, { uid, gid }: Owner): void {
  for (const name of readdirSync(folder)) lchownSync(join(folder, name), uid, gid)
}

const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder).filter((name) => /^[0-9A-F]{24}$/.test(name) || isHistory(name))
  } catch {
    return []
  }
}

/** To the newest timeline of which there is a history. */
function pathTo({ restore }: Node, own: number): Path {
  const folder = { folder: restore, below: '' }
  return findPathTo(Math.max(own, ...walNames(folder).filter(isHistory).map(timelineOf)), [folder])
}
