// The WAL of the services of this host, made ready to be copied off it. For each service one folder of ours has links to its archived
// WAL, which cost no space, and copies of the WAL that is not archived yet, cut at the position up to which it is flushed: a service that
// writes little would else keep its last WAL for itself for hours.
// 1. The service's user can change neither the names in that folder nor what kind of entry they are: the program that copies may read it
//    with more rights than that user has.
//    It can go on writing to the files that are linked: where it does, its service gets copies instead.
// 2. It follows the archive: what is pruned there goes here too, so a copy that fails for days takes no space.
// 3. It never waits for the service, and the service never waits for it.
import { closeSync, fstatSync, lchownSync, lstatSync, readdirSync, writeSync, openSync, read } from 'node:fs'
import { link, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import type { StagedSnapshot, StagedWal } from '../../provider.ts'
import { messageOf } from '../../host/message.ts'
import { errorCode, readIfThere, statIfThere } from '../../host/read.ts'
import { ensureFolder } from '../host/effect.ts'
import { copyFileIn } from '../host/copy-tree.ts'
import { entriesOf } from '../host/entries.ts'
import { foldersOf, nodeOf, type Node } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { lastWrittenOf } from '../host/storage.ts'
import { pathOf } from '../host/handle.ts'
import { listStats, openFile, openFolder, Planted } from '../host/tenant-files.ts'
import { findService } from '../postgres/nodes.ts'
import { inForce } from '../postgres/port-in-force.ts'
import { findPostmaster } from '../postgres/process.ts'
import { withSuperuser } from '../postgres/superuser.ts'
import { listComplete } from '../snapshot/stored.ts'
import { stagedIn } from '../wal/staged-wal.ts'
import { findPath, onPath } from '../wal/timeline.ts'
import { archiveAt, isHistory, isSegment, listSegments, pathIn, pgWalOf, wal_file_bytes_max } from '../wal/wal.ts'

/** When the WAL of each service was last written, as of the last stage. Only saves a connection. */
type Seen = Map<string, { written_ms: number; data: string }>

/** Of each service that gets copies instead of links, the files that are copied. */
type Copied = Map<string, Set<string>>

export type Staged = { seen: Seen; copied: Copied; turn: Promise<unknown> }

export const newStaged = (): Staged => ({ seen: new Map(), copied: new Map(), turn: Promise.resolve() })

/** So long the archive may be behind before older WAL waits for its turn: 16 segments are 128 MB. */
const unarchived_max = 16
const chunk_bytes = 256 * 1024
/** Of whole files in a round, which other services wait for. */
const copies_max = 100
/** WAL that was written a moment ago may be written again without a newer time of its file. */
const settled_ms = 1_000
/** No copy of one WAL file takes so long. */
const cut_off_ms = 600_000

/** Of a service whose WAL cannot be made ready, such as for the loss of its data, the files of the last time stay. */
export async function stageAll(
  host: Machine,
  staged: Staged,
  written: ReadonlySet<string> = new Set(),
): Promise<StagedWal[]> {
  for (const one of written) staged.copied.set(one, staged.copied.get(one) ?? new Set())
  const found: StagedWal[] = []
  for (const service_id of await listHomes(host)) {
    const { backup } = nodeOf(host.directory, service_id, 0, host.as_root)
    try {
      const node = await findService(host.directory, service_id, host.as_root)
      // Replica sets have homes too, but no archive; a service that is being made has no data yet.
      if (!node || !(await statIfThere(node.archive))) continue
      if (await statIfThere(node.data)) found.push(await stageService(host, node, staged))
      else if (await statIfThere(backup)) throw new Error('its data directory is gone')
    } catch (error) {
      const behind = messageOf(error)
      found.push({ service_id, at: new Date(), folder: backup, files: await filesIn(backup), behind })
    }
  }
  return found
}

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

/** One at a time in a process: a backup and a drill may both want it. */
export async function stageService(host: Machine, node: Node, staged: Staged): Promise<StagedWal> {
  return await inTurn(staged, () => stageOne(host, node, staged))
}

/** Its archived WAL alone. Returns the folder with the links. */
export async function mirrorService({ effect }: Machine, node: Node, staged: Staged): Promise<string> {
  return await inTurn(staged, async () => {
    const archive = join(node.backup, 'archive')
    for (const folder of [node.backup, archive]) await ensureFolder(effect, 'staged WAL', folder, 0o700)
    await mirror(node, archive, staged.copied.get(node.service_id))
    return archive
  })
}

async function inTurn<T>(staged: Staged, work: () => Promise<T>): Promise<T> {
  const own = staged.turn.then(work)
  staged.turn = own.catch(() => undefined)
  return await own
}

async function stageOne({ effect }: Machine, node: Node, { seen: staged, copied }: Staged): Promise<StagedWal> {
  const at = new Date()
  const { archive, partial } = stagedIn(node.backup)
  for (const folder of [node.backup, archive, partial]) await ensureFolder(effect, 'staged WAL', folder, 0o700)
  await removeCutOff(node.backup, at)
  const written_ms = await lastWrittenOf(node.data)
  const before = staged.get(node.service_id)
  // In this order: a file that has left the WAL folder before it is listed is archived before the archive is listed.
  const changed = before?.data !== node.data || before.written_ms !== written_ms
  const unarchived = changed ? await stageUnarchived(node, partial) : undefined
  await mirror(node, archive, copied.get(node.service_id))
  const archived = await namesAt(archive)
  // After the archive: whatever is in there, the timelines that were left before it are known.
  await stageLeft(node)
  // Nor before it: what is removed here is in there, or on no path of the service.
  for (const name of await namesAt(partial)) {
    if (archived.has(name) || unarchived?.names.has(name) === false) await rm(join(partial, name), { force: true })
  }
  const behind = unarchived?.behind
  if (behind === undefined && written_ms < at.getTime() - settled_ms)
    staged.set(node.service_id, { written_ms, data: node.data })
  else staged.delete(node.service_id)
  const files = await filesIn(node.backup)
  return { service_id: node.service_id, at, folder: node.backup, files, ...(behind !== undefined && { behind }) }
}

/** What a copy of the folder has. */
async function filesIn(folder: string): Promise<StagedWal['files']> {
  const files: StagedWal['files'][number][] = []
  for (const below of ['archive', 'partial']) {
    if (!(await statIfThere(join(folder, below)))) continue
    for await (const [name, { size }] of listStats(folder, below)) {
      if (isWal(name)) files.push({ path: `${below}/${name}`, bytes: Math.min(size, wal_file_bytes_max) })
    }
  }
  const { exchange } = stagedIn(folder)
  const stats = await statIfThere(exchange)
  return stats ? [...files, { path: basename(exchange), bytes: stats.size }] : files
}

const isWal = (name: string) => isSegment(name) || isHistory(name)

/** What a killed process left. */
async function removeCutOff(folder: string, now: Date): Promise<void> {
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.new'))) {
    const stats = lstatSync(join(folder, name), { throwIfNoEntry: false })
    if (stats && now.getTime() - stats.mtimeMs > cut_off_ms) await rm(join(folder, name), { force: true })
  }
}

/** Links in our folder to all whole files of the archive, or copies of them, and nothing else. */
async function mirror(node: Node, to: string, copied: Set<string> | undefined): Promise<void> {
  const { archive } = node
  const handle = openFolder(archive)
  let planted: Planted | undefined
  let copies = 0
  try {
    const { uid } = fstatSync(handle)
    const [wanted, there] = [await namesAt(pathOf(handle)), await namesAt(to)]
    for (const name of there) {
      if (wanted.has(name) && copied?.has(name) !== false) continue
      await rm(join(to, name), { force: true })
      there.delete(name)
    }
    // The link is to the entry itself, whatever it is; what it is does not change any more under a name of ours, but how much.
    for (const name of wanted) {
      if (there.has(name)) continue
      if (copied && ++copies > copies_max) break
      const made = copied ? copyWhole(node, name, join(to, name)) : link(`${pathOf(handle)}/${name}`, join(to, name))
      await made.catch((error: unknown) => {
        if (error instanceof Planted) planted ??= error
        else ignoreOther(error)
      })
      copied?.add(name)
    }
    for await (const [name, stats] of listStats(to)) {
      const is_own = stats.isFile() && stats.uid === uid
      if (is_own && stats.size <= wal_file_bytes_max) continue
      await rm(join(to, name), { force: true })
      planted ??= new Planted(archive, name, is_own ? 'larger than a WAL file' : 'no file of its own user')
    }
  } finally {
    closeSync(handle)
  }
  // It keeps no other file from being copied.
  if (planted) throw planted
  if (copies > copies_max) throw new Error('its archived WAL is being copied, because files of it have grown')
}

async function copyWhole(node: Node, name: string, to: string): Promise<void> {
  const aside = join(node.backup, `${process.pid}.new`)
  const options = { sharing: { possible: true }, keep_reserve: true, bytes_max: wal_file_bytes_max }
  await copyFileIn(node.archive, name, aside, options)
  // As the files that are linked are its user's, who cannot enter this folder.
  if (node.owner) lchownSync(aside, node.owner.uid, node.owner.gid)
  await rename(aside, to)
}

/** Another process has made the same link, or the archive has been pruned since it was listed. */
function ignoreOther(error: unknown): void {
  if (!['EEXIST', 'ENOENT'].includes(errorCode(error) ?? '')) throw error
}

async function namesAt(folder: string): Promise<Set<string>> {
  const names = new Set<string>()
  for await (const { name } of entriesOf(folder)) if (isWal(name)) names.add(name)
  return names
}

/** Which timelines the service has left, if it has been rewound. */
async function stageLeft(node: Node): Promise<void> {
  const text = await readIfThere(node.exchange)
  const { exchange } = stagedIn(node.backup)
  if (text === undefined || (await readIfThere(exchange)) === text) return
  const aside = join(node.backup, `${process.pid}.new`)
  await writeFile(aside, text, { mode: 0o600 })
  await rename(aside, exchange)
}

/** The names of the WAL that the archive does not have yet; behind: a sentence: there is more than fits. */
type Unarchived = { names: ReadonlySet<string>; behind?: string }

/** Copies them, the last file up to the position that is flushed. */
async function stageUnarchived(node: Node, to: string): Promise<Unarchived> {
  const flushed = await flushedPosition(node)
  const path = await findPath(node.data, [pgWalOf(node.data), archiveAt(node.archive)])
  // A file of a timeline that was left may be archived under the same number.
  const archived = onPath(await listSegments(archiveAt(node.archive)), path).at(-1)?.number ?? -1
  // How much of a file is flushed; nothing, where it lies beyond.
  const written = ({ number, bytes }: { number: number; bytes: number }) =>
    Math.min(bytes, Math.max(0, flushed - number * bytes))
  const waiting = onPath(await listSegments(pgWalOf(node.data)), path).filter(
    (one) => one.number > archived && written(one) > 0,
  )
  const recent = waiting.slice(0, unarchived_max)
  const names = new Set(recent.map(({ name }) => name))
  for (const one of recent) await copyBeginning(node, one.name, join(to, one.name), written(one))
  if (waiting.length === recent.length) return { names }
  return { names, behind: `its archive is ${waiting.length} WAL files behind, of which ${recent.length} are copied` }
}

/** Without an end when no server runs: then its WAL ends where its files end. */
async function flushedPosition(node: Node): Promise<number> {
  if (!(await findPostmaster(node)).postmaster) return Infinity
  return await withSuperuser(await inForce(node), {}, async (client) => {
    const { rows } = await client.query<{ position: string }>(
      `select (pg_catalog.pg_current_wal_flush_lsn() - '0/0'::pg_catalog.pg_lsn)::text as position`,
    )
    return Number(rows[0]?.position)
  })
}

const readAt = promisify(read)

async function copyBeginning(node: Node, name: string, to: string, bytes: number): Promise<void> {
  const from = openFile(node.data, pathIn(pgWalOf(node.data), name))
  // It was archived meanwhile, and is found there.
  if (from === undefined) return
  const aside = join(node.backup, `${process.pid}.new`)
  const target = openSync(aside, 'w', 0o600)
  try {
    const chunk = Buffer.allocUnsafe(chunk_bytes)
    for (let at = 0; at < bytes;) {
      const { bytesRead } = await readAt(from, chunk, 0, Math.min(chunk.length, bytes - at), at)
      if (bytesRead === 0) break
      for (let done = 0; done < bytesRead;) done += writeSync(target, chunk, done, bytesRead - done, at + done)
      at += bytesRead
    }
  } finally {
    closeSync(from)
    closeSync(target)
  }
  await rename(aside, to)
}
