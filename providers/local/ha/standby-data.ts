// The data directory of a standby: a copy of its running primary, made aside and renamed into place whole and durable.
// A former primary becomes a standby with the data that it has; whether it can follow shows when it tries.
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { copyRunning } from '../snapshot/cluster-copy.ts'
import { syncOne } from '../../host/sync.ts'
import { chownTree, syncTree } from '../host/tree.ts'
import { ensureEntryRemoved, ensureRemoved, type Effect } from '../host/effect.ts'
import { statIfThere } from '../../host/read.ts'
import { withLock } from '../host/lock.ts'
import type { Node } from '../host/layout.ts'
import type { HaHost } from './ha-host.ts'
import { requireDiskSpace } from '../host/disk-space.ts'
import { ensureKilled } from '../postgres/process.ts'
import { removeTree } from '../host/remove-tree.ts'
import { findEntry, listNames, replaceFile } from '../host/tenant-files.ts'

/** Throws when the copy failed, such as by a full disk. */
export async function ensureStandbyData(host: HaHost, node: Node, primary: Node): Promise<'there' | 'copying'> {
  if (await statIfThere(node.data)) return 'there'
  const name = `${node.service_id}/node_${node.number}/data`
  await host.jobs.ensure(name, (signal) => make(host, node, primary, signal))
  return (await statIfThere(node.data)) ? 'there' : 'copying'
}

/** Whether a server on this data follows, instead of being a primary. */
export async function isStandby(node: Node): Promise<boolean> {
  return findEntry(node.data, standby_signal) !== undefined
}

/** From its next start on it follows. No server may run on it. */
export async function ensureStandbySignal(effect: Effect, node: Node): Promise<void> {
  if (await isStandby(node)) return
  // Slots of its former standbys would keep WAL here that no standby will ever fetch.
  const slots = findEntry(node.data, 'pg_replslot') ? await listNames(node.data, 'pg_replslot') : []
  for (const name of slots) {
    await ensureEntryRemoved(effect, 'forgotten slot', node.data, `pg_replslot/${name}`)
  }
  await effect('standby: turn round')
  await replaceFile(node.data, standby_signal, '', { owner: node.owner, durable: true })
}

/** Moves useless data aside; its space comes back when the node is copied anew, or removed. */
export async function ensureDataMovedAside(effect: Effect, node: Node): Promise<void> {
  await ensureKilled(effect, node)
  if (!(await statIfThere(node.data))) return
  await ensureRemoved(effect, 'useless data directory', node.data_removed)
  await effect('useless data directory: rename away')
  await rename(node.data, node.data_removed)
}

const standby_signal = 'standby.signal'

async function make(host: HaHost, node: Node, primary: Node, signal: AbortSignal): Promise<void> {
  const { effect } = host
  const aside = node.data_aside
  await withLock(effect, { ...node, copying: node.making }, 'making its data', async () => {
    // Another pass may have finished the work of a killed server.
    if (await statIfThere(node.data)) return
    // The folder may have been removed under a running server; without settings no server was ever started here.
    if (await statIfThere(node.settings)) await ensureKilled(effect, node)
    try {
      await ensureRemoved(effect, 'useless data directory', node.data_removed)
      await ensureRemoved(effect, 'unfinished data directory', aside)
      requireDiskSpace(node.home)
      await copyRunning(effect, primary, aside, signal)
      await forgetArchived(aside)
      for (const name of [standby_signal, 'postgresql.auto.conf']) {
        await writeFile(join(aside, name), '', { mode: 0o600, flag: 'wx' })
      }
      if (node.owner) await chownTree(aside, node.owner)
      await effect('standby: make durable')
      await syncTree(aside, signal)
      await effect('standby: rename into place')
      await rename(aside, node.data)
      await syncOne(node.node_home)
    } finally {
      // A no-op after the rename; else an unfinished copy gives its space back. An aborted copy does not wait for that.
      if (!signal.aborted) await ensureRemoved(effect, 'unfinished data directory', aside)
    }
  })
}

/** Should it take over, it archives the WAL that its primary did not. */
async function forgetArchived(aside: string): Promise<void> {
  const folder = join(aside, 'pg_wal', 'archive_status')
  await removeTree(folder)
  await mkdir(folder, { mode: 0o700 })
}
