// Gathers the WAL that leads from a snapshot to a later moment of its service: from the service's archive, and the rest
// from its own WAL folder. It is copied into the fork's home, because the parent may be removed at any time.
import { lchownSync } from 'node:fs'
import { join } from 'node:path'
import { undefinedIfAbsent } from '../../host/read.ts'
import { ensureFolder, ensureRemoved, type Effect } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import { copyWalFile } from './wal-copy.ts'
import { findEntry, listNames } from '../host/tenant-files.ts'
import { SourceDamaged, type Plan } from './replay.ts'
import { inForce } from '../postgres/port-in-force.ts'
import { findPostmaster, readyPostmaster } from '../postgres/process.ts'
import { withSuperuser } from '../postgres/superuser.ts'
import { findPath, firstGap, onPath, type Path } from './timeline.ts'
import { archiveAt, isHistory, listSegments, pathIn, pgWalOf, walPositionOf, walNames, type WalFolder } from './wal.ts'

type Gathered = Pick<Plan, 'source_ran' | 'reach' | 'last_wal_file' | 'path'>

/** last_wal_file: up to which the WAL is known to lead past the target. Undefined: all that there is. */
type Wanted = {
  snapshot: { taken_at: Date; start_wal_file: string }
  path: Path
  last_wal_file: string | undefined
  /** The parent has left the path: its WAL there ends where it ends. */
  ended: boolean
  signal: AbortSignal
}

export async function gatherWal(
  effect: Effect,
  node: Node,
  parent: Node,
  { snapshot, path, last_wal_file, ended, signal }: Wanted,
): Promise<Gathered> {
  const { owner } = node
  await ensureRemoved(effect, 'gathered WAL', node.restore)
  await ensureFolder(effect, 'gathered WAL', node.restore, owner ? 0o710 : 0o700, owner && { uid: 0, gid: owner.gid })
  const source_ran = last_wal_file !== undefined || (!ended && (await passTarget(effect, parent)))
  const timelines = [path, await findPath(parent.data, [])].map((one) => one.at(-1)?.timeline)
  if (!ended && timelines[0] !== timelines[1])
    throw new Error('the parent has begun a new timeline; the next pass follows it')
  await effect('gathered WAL: copy')
  await copyAll(node, parent, { first: snapshot.start_wal_file, last: last_wal_file, path, signal })
  const segments = await listSegments({ folder: node.restore, below: '' })
  const gap = firstGap(segments, snapshot.start_wal_file, path)
  const before = segments.findLast(({ name }) => gap !== undefined && walPositionOf(name) < walPositionOf(gap))
  if (gap !== undefined) {
    const until = before && findEntry(parent.archive, before.name)?.mtime
    const reach = reachSentence(snapshot.taken_at, until ?? snapshot.taken_at)
    throw new SourceDamaged(`the WAL file ${gap} of its parent ${parent.service_id} is missing; ${reach}`)
  }
  // PostgreSQL makes links to them, which the system permits their owner only.
  if (owner)
    for (const name of await listNames(node.restore)) lchownSync(join(node.restore, name), owner.uid, owner.gid)
  return {
    source_ran,
    path,
    last_wal_file: segments.at(-1)?.name ?? '',
    reach: reachSentence(snapshot.taken_at, undefined),
  }
}

/** The moments that can be restored all the same. `until` is filled in later when only the replay can tell. */
function reachSentence(from: Date, until: Date | undefined): string {
  const end = until?.toISOString() ?? '{until}'
  return `what can be restored is ${from.toISOString()} to ${end}, and what comes after the next snapshot`
}

/**
 * Only the next commit tells the replay that the target has passed: a running parent makes one. It is flushed with all
 * before it, so that it is in the files. False when the parent does not run: then its WAL ends where it ends.
 */
async function passTarget(effect: Effect, parent: Node): Promise<boolean> {
  const { postmaster } = await findPostmaster(parent)
  if (!postmaster || !(await readyPostmaster(parent))) return false
  await effect('parent: commit after the target')
  try {
    await withSuperuser(await inForce(parent), {}, (client) =>
      client.query(`set synchronous_commit = local; select pg_catalog.pg_logical_emit_message(true, 'howdah', '')`),
    )
    return true
  } catch {
    // It is stopping or has just crashed, and makes no more commits: its files are complete.
    return false
  }
}

type Row = { first: string; last: string | undefined; path: Path; signal: AbortSignal }

async function copyAll(node: Node, parent: Node, { first, last, path, signal }: Row): Promise<void> {
  const [archive, pg_wal] = [archiveAt(parent.archive), pgWalOf(parent.data)]
  // In this order: a file that has left the WAL folder before it is listed is archived before the archive is listed.
  const recent = onPath(await listSegments(pg_wal, first, last), path)
  const archived = onPath(await listSegments(archive, first, last), path)
  const histories = [...(await walNames(pg_wal)), ...(await walNames(archive))].filter(isHistory)
  const options = { sharing: { possible: true }, keep_reserve: true, signal } as const
  const isIn = (folder: WalFolder, name: string) => findEntry(folder.folder, pathIn(folder, name)) !== undefined
  const take = async (folder: WalFolder, name: string) => {
    signal.throwIfAborted()
    await copyWalFile(folder, name, join(node.restore, name), options)
  }
  const safe = new Set(archived.map(({ name }) => name))
  for (const { name } of archived) await take(archive, name)
  for (const { name } of recent.filter((segment) => !safe.has(segment.name))) {
    if (isIn(archive, name)) await take(archive, name)
    else await take(pg_wal, name).catch(undefinedIfAbsent)
    // Once archived it may be reused during the copy; the archive's file is the same and stays.
    if (isIn(archive, name)) await take(archive, name)
  }
  for (const name of new Set(histories)) await take(isIn(pg_wal, name) ? pg_wal : archive, name)
}
