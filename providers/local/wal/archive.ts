// The WAL archive of a service: a folder of its own, which PostgreSQL itself fills from its first second on
// (postgres/archive-settings.ts). Here is a check whether it keeps up, and the pruning.
// 1. Parent and fork never share a folder: after a fork the same name means different WAL.
// 2. Only WAL before the oldest snapshot is pruned: without a snapshot before it, it restores nothing.
import { join } from 'node:path'
import { ensureEntryRemoved, ensureRemoved, type Effect } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import { withSuperuser } from '../postgres/superuser.ts'
import { findEntry, listNames, renameEntry, replaceFile } from '../host/tenant-files.ts'
import { isSegment, walPositionOf } from './wal.ts'

/** A segment that has waited for so long has failed; a segment behind it may yet be archived. */
const patience_ms = 20_000
const checked_max = 10
const archive_status = 'pg_wal/archive_status'

/**
 * Why finished WAL does not reach the archive, as a sentence; undefined when all is well. Asks it to try again.
 * `stalled`: the services that were reported as stalled the last time.
 */
export async function archiveTrouble(effect: Effect, node: Node, stalled: Set<string>): Promise<string | undefined> {
  // The files show it without the cost of a connection, and nearly always all is well.
  if (!(await somethingWaits(node))) {
    if (stalled.delete(node.service_id)) await removeHalves(effect, node)
    return undefined
  }
  return await withSuperuser(node, {}, async (client) => {
    const { rows } = await client.query<{ failing: boolean; failed: string | null }>(
      `select last_failed_wal as failed,
         last_failed_time is not null and last_failed_time > coalesce(last_archived_time, '-infinity') as failing
       from pg_catalog.pg_stat_archiver`,
    )
    if (!rows[0]?.failing) return undefined
    stalled.add(node.service_id)
    await removeHalves(effect, node)
    // By itself it would try again within a minute; woken, it tries now.
    await effect('archive: try again')
    const passed = await ensureEndedPassed(effect, node)
    await client.query('select pg_catalog.pg_reload_conf()')
    if (passed) return undefined
    return (
      `its WAL cannot be archived (${rows[0].failed} is waiting), so moments from now on cannot be restored; ` +
      `check that ${node.archive} can be written and that its disk has space`
    )
  })
}

/** Whether a finished segment has been waiting for longer than it should. Costs one listing of a nearly empty folder. */
export async function somethingWaits(node: Node): Promise<boolean> {
  const names = (await listNames(node.data, archive_status)).filter((name) => name.endsWith('.ready'))
  // The first ones have waited longest; behind a stalled archive there may be thousands.
  for (const name of names.toSorted().slice(0, checked_max)) {
    const stats = findEntry(node.data, `${archive_status}/${name}`)
    if (stats && Date.now() - stats.mtimeMs > patience_ms) return true
  }
  return false
}

/**
 * WAL that a primary finished and did not archive is archived by the node that took over: it has it too, but takes it
 * for archived. WAL before the first file of the archive is not needed.
 */
export async function ensureArchiveWhole(effect: Effect, node: Node): Promise<void> {
  const archived = new Set((await listNames(node.archive)).filter(isSegment))
  const first = [...archived].map(walPositionOf).toSorted()[0] ?? ''
  const there = new Set(await listNames(node.data, 'pg_wal'))
  for (const name of await listNames(node.data, archive_status)) {
    const segment = /^([0-9A-F]{24})\.done$/.exec(name)?.[1]
    if (segment === undefined || !there.has(segment) || archived.has(segment)) continue
    if (walPositionOf(segment) < first) continue
    await effect('archive: hand in')
    await renameEntry(node.data, archive_status, `${segment}.done`, `${segment}.ready`)
  }
}

/**
 * The last file of an abandoned timeline differs between nodes beyond its end. One of them was archived; PostgreSQL would
 * fail at the next for ever, and a shutdown would wait for seconds. Its WAL is in the first file of the timeline that
 * followed. True when there were such files that it has tried, or was about to.
 */
export async function ensureEndedPassed(effect: Effect, node: Node): Promise<boolean> {
  const segments = (await listNames(node.data, 'pg_wal')).filter(isSegment)
  const timeline =
    segments
      .map((name) => name.slice(0, 8))
      .toSorted()
      .at(-1) ?? ''
  const known = new Set(await listNames(node.data, archive_status))
  // An archive that cannot be read has nothing that could be in the way.
  const archived = new Set(await namesIfReadable(node.archive))
  let passed = false
  for (const name of segments) {
    if (name.slice(0, 8) === timeline || !archived.has(name) || known.has(`${name}.done`)) continue
    await effect('archive: pass over')
    if (known.has(`${name}.ready`)) {
      await renameEntry(node.data, archive_status, `${name}.ready`, `${name}.done`)
      passed = true
    } else {
      // Without a status file its next checkpoint would mark it as ready to be archived.
      await replaceFile(node.data, `${archive_status}/${name}.done`, '', node)
    }
  }
  return passed
}

/** Removes the WAL before this file. */
export async function pruneArchive(effect: Effect, node: Node, start_wal_file: string): Promise<void> {
  // Also the labels of backups, whose names begin with those of segments; the histories of timelines are kept.
  const names = (await listNames(node.archive)).filter((name) => /^[0-9A-F]{24}(\.|$)/.test(name))
  for (const name of names) {
    if (walPositionOf(name) >= walPositionOf(start_wal_file)) continue
    // A link that is left would keep the space.
    await ensureRemoved(effect, 'staged WAL', join(node.backup, 'archive', name))
    await ensureEntryRemoved(effect, 'archived WAL', node.archive, name)
  }
}

/**
 * Temporary files that PostgreSQL's module leaves of every failed attempt: on a full disk they take the last space. Should it be
 * writing one right now, it tries once more.
 */
async function removeHalves(effect: Effect, { archive }: Node): Promise<void> {
  for (const name of (await namesIfReadable(archive)).filter((name) => name.startsWith('archtemp.'))) {
    await ensureEntryRemoved(effect, 'cut-off archived WAL', archive, name)
  }
}

export async function namesIfReadable(folder: string): Promise<string[]> {
  return await listNames(folder).catch(() => [])
}
