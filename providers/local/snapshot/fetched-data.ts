// A data directory of a snapshot and the WAL that follows, wherever these lie: it recovers to the end of the WAL, or to a moment, when it is
// started. It is made aside.
import { closeSync, lchownSync, readdirSync, truncateSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, statIfThere } from '../../host/read.ts'
import type { Owner } from '../../host/user-map.ts'
import { copyFileOf, copyTree } from '../host/copy-tree.ts'
import { ensureFolder, ensureRemoved } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { pathOf } from '../host/handle.ts'
import { openFolder, replaceFile } from '../host/tenant-files.ts'
import { chownTree, syncTree } from '../host/tree.ts'
import { readControl } from '../postgres/control-file.ts'
import { replaySettings, savePlan } from '../wal/replay.ts'
import { findStagedPath, stagedIn } from '../wal/staged-wal.ts'
import { firstGap, onPath } from '../wal/timeline.ts'
import { isHistory, isWal, listSegments, wal_file_bytes_max } from '../wal/wal.ts'
import type { ClusterCopy } from './cluster-copy.ts'

type DataSource = {
  facts: ClusterCopy
  snapshot_data: string
  /** It is not needed afterwards: its files are moved where that is possible. */
  is_spare?: boolean
  wal_folder: string
  /** Whole files stay where they are; else they are moved into the node's archive. */
  keep: boolean
  at?: string | undefined
  /** Aborts the copy. */
  signal?: AbortSignal
}

/** A data directory, aside, that recovers when it is started. Returns the first WAL file that is missing on the way, up to which it recovers. */
export async function copyData(host: Machine, node: Node, source: DataSource): Promise<string | undefined> {
  const { effect } = host
  const { facts, at } = source
  await ensureRemoved(effect, 'unfinished data directory', node.data_aside)
  const { segment_bytes, timeline } = await readControl(source.snapshot_data)
  await effect('restore: copy snapshot')
  if (!(source.is_spare && (await isMoved(source.snapshot_data, node)))) {
    await copyTree(source.snapshot_data, node.data_aside, {
      of_tenant: 'out of its reach',
      keep_reserve: true,
      ...(node.owner && { owner: node.owner }),
      ...(source.signal && { signal: source.signal }),
    })
  }
  await gather(host, node, source, segment_bytes)
  const path = await findStagedPath(source.wal_folder, { own: timeline, histories: node.restore, at })
  const needed = await listSegments({ folder: node.restore, below: '' }, facts.start_wal_file)
  // PostgreSQL makes links to them, which the system permits their owner only.
  if (node.owner) giveAll(node.restore, node.owner)
  const reach = `what can be restored begins at ${facts.taken_at.toISOString()} and ends at {until}`
  const last_wal_file = onPath(needed, path).at(-1)?.name ?? facts.start_wal_file
  await savePlan(effect, node, { source_ran: false, path, last_wal_file, reach, target_time: at ?? 'the end' })
  await replaceFile(node.data_aside, 'recovery.signal', '', node)
  await replaceFile(node.data_aside, 'postgresql.auto.conf', replaySettings(node, path, at), node)
  return firstGap(needed, facts.start_wal_file, path)
}

/** False: it lies on another file system. */
async function isMoved(snapshot_data: string, { data_aside, owner }: Node): Promise<boolean> {
  if (owner) {
    // It lies where no other user can enter; like that of a copy, its root is handed over by the caller.
    await chownTree(snapshot_data, owner)
    lchownSync(snapshot_data, process.getuid?.() ?? 0, process.getgid?.() ?? 0)
  }
  try {
    await rename(snapshot_data, data_aside)
    return true
  } catch (error) {
    if (errorCode(error) === 'EXDEV') return false
    throw error
  }
}

/** The archive gets its files back, and the replay copies of all: PostgreSQL writes into those. */
async function gather({ effect }: Machine, node: Node, { wal_folder, keep }: DataSource, segment_bytes: number) {
  const { owner } = node
  await ensureFolder(effect, 'gathered WAL', node.restore, owner ? 0o710 : 0o700, owner && { uid: 0, gid: owner.gid })
  const archive = openFolder(node.archive)
  const sharing = { possible: true }
  const moves: (readonly [folder: string, name: string])[] = []
  try {
    // What is in both was archived while it was staged.
    for (const folder of [stagedIn(wal_folder).partial, stagedIn(wal_folder).archive]) {
      for (const name of namesIn(folder)) {
        const copy = join(node.restore, name)
        // A service's user may still write to what is staged of it.
        await copyFileOf(folder, name, copy, { sharing, keep_reserve: true, bytes_max: wal_file_bytes_max })
        // The last file was cut where it was flushed; PostgreSQL wants whole ones.
        const whole = isHistory(name) || (await statIfThere(copy))?.size === segment_bytes
        if (!whole) truncateSync(copy, segment_bytes)
        // The file that is not finished is continued on the next timeline, and archived with that.
        if (!keep && whole) moves.push([folder, name])
      }
    }
    // What has left the staged WAL is not copied again, also after a loss of power.
    if (moves.length > 0) await syncTree(node.restore)
    for (const [folder, name] of moves) {
      const from = join(folder, name)
      if (owner) lchownSync(from, owner.uid, owner.gid)
      await effect('restore: WAL file')
      await rename(from, `${pathOf(archive)}/${name}`)
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
    return readdirSync(folder).filter(isWal)
  } catch {
    return []
  }
}
