// A copy of a whole data directory from which PostgreSQL recovers to a consistent state by itself: of a running server by
// its backup mode, of a stopped or crashed one by its files. One mechanism for snapshots and forks.
// 1. A copy of a running server without its backup_label would usually start, and sometimes be silently wrong: the
//    label is written before any other process can see the copy.
//    Data that was itself copied so, and has not been started since, has a label of its own, which comes along.
// 2. The WAL from the first checkpoint to the end of the copy is in it, so it needs nothing else.
// 3. Nothing of the source's own role comes along: no slots, no signals, no settings made by ALTER SYSTEM.
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { copyControl, readControl } from '../postgres/control-file.ts'
import { copyTree, requireSpaceToCopy } from '../host/copy-tree.ts'
import { chownTree } from '../host/tree.ts'
import type { Effect } from '../host/effect.ts'
import type { Owner } from '../../host/user-map.ts'
import type { Node } from '../host/layout.ts'
import { readText } from '../host/tenant-files.ts'
import { statIfThere } from '../../host/read.ts'
import { withSuperuser } from '../postgres/superuser.ts'
import { copySegment, copyWalFile, findWal, listWal, type Wal } from '../wal/wal-copy.ts'
import { firstGap, onPath } from '../wal/timeline.ts'
import { segmentNameOf, segmentNumberAt } from '../../postgres/lsn.ts'
import { isHistory, listSegments, pgWalOf, walNames, type Segment } from '../wal/wal.ts'

/** From the moment of the copy on its service's WAL leads to any later one. */
export type ClusterCopy = {
  taken_at: Date
  start_wal_file: string
  size_bytes: number
  /** The position in the WAL at which the copy is complete; absent where that is the end of all WAL that there was. */
  end_position?: number
  /** There is a commit of this millisecond or later in this WAL file, or before it. */
  commit?: { ms: number; wal_file: string }
}

const label_name = 'backup_label'
/** A checkpoint of a busy server with much memory takes a while. */
const statement_timeout_ms = 600_000

type CopySpec = {
  /** There is to be a commit near its end, by which replays know that an earlier moment has passed. */
  passable?: boolean
  /** Who owns all of the copy but its root; absent: the server's user. */
  owner?: Owner | undefined
}

export async function copyRunning(
  effect: Effect,
  node: Node,
  to: string,
  signal: AbortSignal,
  { passable = false, owner }: CopySpec = {},
): Promise<ClusterCopy> {
  // A server whose control file is not a file waits for ever at its next checkpoint.
  await readControl(node.data)
  return await withSuperuser(node, { statement_timeout_ms }, async (client) => {
    const cut_off = new AbortController()
    client.once('end', () => cut_off.abort(new Error('the server ended during the copy')))
    const either = AbortSignal.any([signal, cut_off.signal])
    const skip = (path: string) => isLeftOut(path) || path === 'global/pg_control'
    const wary = { of_tenant: 'in its reach', tolerate_missing: true, keep_reserve: true, signal: either } as const
    await refuseOther(client, node)
    await effect('copy: begin backup')
    // Before it begins a new WAL file, which a copy that fails would do again and again.
    await requireSpaceToCopy(node.data, to, skip)
    await client.query(`select pg_catalog.pg_backup_start('howdah', true)`)
    await effect('copy: files')
    const bytes = await copyTree(node.data, to, { ...wary, skip, ...(owner && { owner }) })
    await copyControl(node.data, to)
    const commit = passable ? await commitNow(effect, client) : undefined
    await effect('copy: end backup')
    const stopping = client.query<{ label: string; last: string; position: number; ms: number }>(
      `select labelfile as label, pg_catalog.pg_walfile_name(lsn) as last, (lsn - '0/0')::float8 as position, ${clock_ms} as ms
       from pg_catalog.pg_backup_stop(false)`,
    )
    const [from, { rows }] = await Promise.all([findWal(node), stopping])
    const [stop] = rows
    if (stop === undefined) throw new Error('the end of the backup has no label')
    const start_wal_file = startWalFileOf(stop.label)
    const wal_bytes = await copyWal(effect, from, to, { first: start_wal_file, last: stop.last, signal: either })
    await addLabel(to, stop.label, owner)
    if (owner) await giveAdded(to, owner)
    return {
      taken_at: new Date(stop.ms),
      start_wal_file,
      size_bytes: bytes + wal_bytes,
      end_position: stop.position,
      ...(commit && { commit }),
    }
  })
}

/** The socket of the service leads to its primary. Where another node has become that since, the backup would be of other files. */
async function refuseOther(client: pg.Client, { data }: Node): Promise<void> {
  const { rows } = await client.query<{ data: string }>(`select pg_catalog.current_setting('data_directory') as data`)
  if (rows[0]?.data !== data) throw new Error('another node leads the service by now')
}

/** Files that were added to the copy. Its root is still ours, so no other user can have changed it. */
async function giveAdded(to: string, owner: Owner): Promise<void> {
  await chownTree(join(to, 'pg_wal'), owner)
  chownSync(join(to, 'global/pg_control'), owner.uid, owner.gid)
}

async function addLabel(to: string, label: string, owner: Owner | undefined): Promise<void> {
  const path = join(to, label_name)
  await writeFile(path, label, { mode: 0o600 })
  if (owner) chownSync(path, owner.uid, owner.gid)
}

function startWalFileOf(label: string): string {
  const name = /^START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)/.exec(label)?.[1]
  if (name === undefined) throw new Error('the label of the backup does not say where its WAL begins')
  return name
}

/** No server may start on it meanwhile. After a crash the copy recovers as the service itself would. */
export async function copyStopped(
  effect: Effect,
  node: Node,
  to: string,
  signal: AbortSignal,
  { owner }: Pick<CopySpec, 'owner'> = {},
): Promise<ClusterCopy> {
  // With its WAL it is not yet what it is to be.
  if (await statIfThere(node.replay)) throw new Error('its data has not reached its moment yet')
  const control = await readControl(node.data)
  const label = readText(node.data, label_name)
  const segments = await listSegments(pgWalOf(node.data))
  const segment_bytes = segments[0]?.bytes
  if (segment_bytes === undefined) throw new Error(`there is no WAL in ${node.data}`)
  const own = segmentNameOf(control.timeline, segmentNumberAt(control.redo, segment_bytes), segment_bytes)
  const start_wal_file = label === undefined ? own : startWalFileOf(label)
  await effect('copy: files')
  // No server runs there, but the service's user wrote the files: as wary as with a running server.
  const wary = { of_tenant: 'in its reach', tolerate_missing: true, keep_reserve: true, signal } as const
  const bytes = await copyTree(node.data, to, { ...wary, skip: isLeftOut, ...(owner && { owner }) })
  const wal_bytes = await copyWal(effect, await findWal(node), to, { first: start_wal_file, signal })
  if (owner) await chownTree(join(to, 'pg_wal'), owner)
  if (label !== undefined) await addLabel(to, label, owner)
  return { taken_at: new Date(), start_wal_file, size_bytes: bytes + wal_bytes }
}

const emptied_folders =
  /^(pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans|log)\//
const left_out_files =
  /^(postmaster\.(pid|opts)|(standby|recovery)\.signal|backup_(label|manifest).*|tablespace_map.*|current_logfiles.*|postgresql\.auto\.conf.*)$/
const left_out_anywhere = /(^|\/)(pg_internal\.init[^/]*|pgsql_tmp[^/]*)$/

function isLeftOut(path: string): boolean {
  return emptied_folders.test(path) || left_out_files.test(path) || left_out_anywhere.test(path)
}

/** From which file, to which, or to the newest. */
type Row = { first: string; last?: string; signal: AbortSignal }

/** No slot keeps the WAL of the copy: no file leaves the WAL folder before it is archived, and the archive is read as well. */
async function copyWal(effect: Effect, from: Wal, to: string, { first, last, signal }: Row): Promise<number> {
  const pg_wal = join(to, 'pg_wal')
  const needed = onPath(await listWal(from, first, last), from.path)
  const gap = firstGap(needed, first, from.path)
  if (gap !== undefined) throw new Error(`the WAL file ${gap} of the copy is missing`)
  await effect('copy: WAL')
  const options = { sharing: { possible: true }, keep_reserve: true, signal } as const
  for (const { name } of needed) await copySegment(from, name, join(pg_wal, name), options)
  for (const name of (await walNames(from.pg_wal)).filter(isHistory)) {
    await copyWalFile(from.pg_wal, name, join(pg_wal, name), options)
  }
  for (const name of ['summaries', 'archive_status']) mkdirSync(join(pg_wal, name), { mode: 0o700 })
  saveArchived(pg_wal, needed)
  return needed.reduce((sum, segment) => sum + segment.bytes, 0)
}

/** The source has archived them, or will: a fork does not do it again. It goes on writing the last one itself. */
function saveArchived(pg_wal: string, segments: readonly Segment[]): void {
  const last = segments.at(-1)
  for (const { name, number } of segments) {
    if (number !== last?.number) writeFileSync(join(pg_wal, 'archive_status', `${name}.done`), '', { mode: 0o600 })
  }
}

/**
 * A replay to an earlier moment needs no WAL beyond: only a later commit tells it that the moment has passed.
 * Before the end of the backup, which begins a new WAL file: an empty file is not archived.
 */
async function commitNow(effect: Effect, client: pg.Client): Promise<{ ms: number; wal_file: string }> {
  const { rows: clock } = await client.query<{ ms: number }>(`select ${clock_ms} as ms`)
  const ms = (clock[0]?.ms ?? Date.now()) - 1
  await effect('copy: commit')
  await client.query('set synchronous_commit = local')
  await client.query(`select pg_catalog.pg_logical_emit_message(true, 'howdah', '')`)
  const { rows } = await client.query<{ name: string }>(
    'select pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()) as name',
  )
  return { ms, wal_file: rows[0]?.name ?? '' }
}

/** The server's clock, because its commits carry that; rounded up, so that the copy is complete at that moment. */
const clock_ms = 'ceil(extract(epoch from clock_timestamp()) * 1000)::float8'
