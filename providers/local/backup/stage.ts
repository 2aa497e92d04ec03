// The WAL of the services of this host, made ready to be copied off it: for each service one folder of ours, with its archived WAL
// (stage-archived.ts) and what is not archived yet (stage-unarchived.ts).
// 1. The service's user can change neither the names in that folder nor what kind of entry they are: the program that copies may read it
//    with more rights than that user has.
//    It can go on writing to the files that are linked: where it does, its service gets copies instead.
// 2. It follows the archive: what is pruned there goes here too, so a copy that fails for days takes no space.
// 3. It never waits for the service, and the service never waits for it.
import { lstatSync, readdirSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { StagedWal } from '../../provider.ts'
import { messageOf } from '../../host/message.ts'
import { readIfThere, statIfThere } from '../../host/read.ts'
import { ensureFolder } from '../host/effect.ts'
import { nodeOf, type Node } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { lastWrittenOf } from '../host/storage.ts'
import { listStats } from '../host/tenant-files.ts'
import { findService } from '../postgres/nodes.ts'
import { stagedIn } from '../wal/staged-wal.ts'
import { isWal, wal_file_bytes_max } from '../wal/wal.ts'
import { listHomes } from './homes.ts'
import { namesAt, stageArchived } from './stage-archived.ts'
import { stageUnarchived } from './stage-unarchived.ts'

/** When the WAL of each service was last written, as of the last stage. Only saves a connection. */
type Seen = Map<string, { written_ms: number; data: string }>

/** Of each service that gets copies instead of links, the files that are copied. */
type Copied = Map<string, Set<string>>

export type Staged = { seen: Seen; copied: Copied; turn: Promise<unknown> }

export const newStaged = (): Staged => ({ seen: new Map(), copied: new Map(), turn: Promise.resolve() })

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

/** One at a time in a process: a backup and a drill may both want it. */
export async function stageService(host: Machine, node: Node, staged: Staged): Promise<StagedWal> {
  return await inTurn(staged, () => stageOne(host, node, staged))
}

/** Its archived WAL alone. Returns the folder with the links. */
export async function mirrorService({ effect }: Machine, node: Node, staged: Staged): Promise<string> {
  return await inTurn(staged, async () => {
    const archive = join(node.backup, 'archive')
    for (const folder of [node.backup, archive]) await ensureFolder(effect, 'staged WAL', folder, 0o700)
    await stageArchived(node, archive, staged.copied.get(node.service_id))
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
  await stageArchived(node, archive, copied.get(node.service_id))
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

/** What a killed process left. */
async function removeCutOff(folder: string, now: Date): Promise<void> {
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.new'))) {
    const stats = lstatSync(join(folder, name), { throwIfNoEntry: false })
    if (stats && now.getTime() - stats.mtimeMs > cut_off_ms) await rm(join(folder, name), { force: true })
  }
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
