// Quotas that the kernel itself enforces: project quotas of XFS, mounted with `prjquota`. Files of PostgreSQL carry the
// number of a project, each with a limit of its own: tables, archive, and the rest with the WAL. So no other limit ever
// keeps PostgreSQL from writing WAL, or the small files of a checkpoint, without which it panics. A table or an archive that
// reaches its limit is refused space, and all else goes on, also while no server watches.
// 1. The limit is beyond the quota: the watch (watch.ts) refuses writes before it is reached.
// 2. Folders of a service's user are marked by a child that runs as that user, so nothing there can mislead root.
// 3. Only a service's own home is left unmarked: files from anywhere are renamed into it.
import { execFile } from 'node:child_process'
import { closeSync, mkdtempSync, readFileSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '../../host/message.ts'
import { parseMounts } from '../../host/mounts.ts'
import type { Effect } from '../host/effect.ts'
import type { Owner } from '../../host/user-map.ts'
import type { Node } from '../host/layout.ts'
import { isDiskFull } from '../../host/read.ts'
import { pathOf } from '../host/handle.ts'
import { removeTree } from '../host/remove-tree.ts'
import { openFolder } from '../host/tenant-files.ts'
import type { Used } from './rules.ts'

export type Projects = {
  /**
   * `starting`: no server runs there, and a start needs some space. A sentence when it fails for the first time: nothing
   * depends on it, because the service is measured then.
   */
  ensure(node: Node, quota_bytes: number, starting: boolean): Promise<string | undefined>
  /** For a standby, which must be able to follow its primary at any size. */
  lift(node: Node): Promise<void>
  /** Undefined when the kernel does not count all of it. */
  usedBy(node: Node): Used | undefined
}

type Books = { limit_bytes: number; used_bytes: number }

const mib = 1024 ** 2
/** More than the bound at which a service is shut, with what PostgreSQL itself needs to stop and to start. */
const limitOf = (quota_bytes: number) => wholeMib(quota_bytes * 1.2) + 256 * mib
const start_bytes = 64 * mib
const programs = { quota: '/usr/sbin/xfs_quota', io: '/usr/sbin/xfs_io', as_user: '/usr/bin/setpriv' }
/** A data directory may have a million files. */
const run_ms_max = 600_000
/** A user's own numbers: one for its archive, two for each node. */
const projects_per_user = 1024

/** Tries it: marks a folder, limits it, and must be refused space. Undefined where that does not work. */
export async function openProjects(effect: Effect, directory: string): Promise<Projects | undefined> {
  const mount = mountOf(readFileSync('/proc/self/mountinfo', 'utf8'), directory)
  return mount !== undefined && (await isEnforced(mount, directory)) ? newProjects(effect, mount) : undefined
}

/** Where the XFS is mounted that holds the directory, if it has project quotas. Pure. */
export function mountOf(mountinfo: string, directory: string): string | undefined {
  let found: { path: string; enforces: boolean } | undefined
  for (const { path, type, options } of parseMounts(mountinfo)) {
    if (!`${directory}/`.startsWith(path.endsWith('/') ? path : `${path}/`)) continue
    // Of several mounts at one path the last one is visible.
    if (found && path.length < found.path.length) continue
    const has_quotas = options.includes('prjquota') || options.includes('pquota')
    found = { path, enforces: type === 'xfs' && has_quotas }
  }
  return found?.enforces ? found.path : undefined
}

function newProjects(effect: Effect, mount: string): Projects {
  const failing = new Set<string>()
  return {
    async ensure(node, quota_bytes, starting) {
      if (!node.owner) return undefined
      try {
        await ensureLimited(effect, mount, { node, owner: node.owner, quota_bytes, starting })
        failing.delete(node.service_id)
        return undefined
      } catch (error) {
        if (failing.has(node.service_id)) return undefined
        failing.add(node.service_id)
        const reason = messageOf(error)
        return `the kernel does not enforce its disk quota (${reason}); it is measured instead`
      }
    },
    async lift(node) {
      if (!node.owner || !booksOf(mount, node)) return
      await effect('quota: lift')
      // A failure is repeated by the next pass; until then the limit is that of its time as a primary.
      await setLimits(mount, foldersOf(node, node.owner).slice(0, 2), [0, 0]).catch(() => undefined)
    },
    usedBy(node) {
      const [wal, tables, archive] = booksOf(mount, node) ?? []
      if (!wal || !tables || !archive) return undefined
      return { data_bytes: wal.used_bytes + tables.used_bytes, archive_bytes: archive.used_bytes }
    },
  }
}

type LimitSpec = { node: Node; owner: Owner; quota_bytes: number; starting: boolean }

async function ensureLimited(effect: Effect, mount: string, spec: LimitSpec): Promise<void> {
  const { node, owner, quota_bytes, starting } = spec
  const largest = limitMax(mount)
  const observed = booksOf(mount, node)
  if (!observed) await markAll(effect, mount, node, owner)
  const books = observed ?? booksOf(mount, node)
  if (!books) throw new Error('the marked folders are not counted')
  const limits = books.map(({ limit_bytes, used_bytes }) => {
    const least = wholeMib(used_bytes) + start_bytes
    // While it runs its limit does not rise with its usage.
    const kept = starting || !observed ? least : Math.min(least, limit_bytes)
    return Math.min(Math.max(limitOf(quota_bytes), kept), largest)
  })
  if (books.every(({ limit_bytes }, at) => limit_bytes === limits[at])) return
  await effect('quota: limit')
  await setLimits(mount, foldersOf(node, owner), limits)
}

type Folder = { folder: string; below: string; project: number }

/** WAL and all files beside the tables; tables; archive. */
function foldersOf({ data, archive, number }: Node, { uid }: Owner): Folder[] {
  const first = uid * projects_per_user
  return [
    { folder: data, below: '', project: first + 2 + 2 * number },
    { folder: data, below: 'base', project: first + 1 + 2 * number },
    { folder: archive, below: '', project: first },
  ]
}

/** Undefined unless all three are marked and limited, each by itself. */
function booksOf(mount: string, node: Node): Books[] | undefined {
  if (!node.owner) return undefined
  const disk_blocks = statfsSync(mount).blocks
  const books = foldersOf(node, node.owner).flatMap((one) => bookOf(one, disk_blocks) ?? [])
  const [wal, tables] = books
  // Both are counted as one: marking was killed between them, or done by a former version.
  if (books.length < 3 || wal?.used_bytes === tables?.used_bytes) return undefined
  return books
}

/** The kernel tells of a marked folder what its project may take, and what is left of it. */
function bookOf({ folder, below }: Folder, disk_blocks: number): Books | undefined {
  let handle: number | undefined
  try {
    handle = openFolder(folder, below)
    const { blocks, bfree, bsize } = statfsSync(pathOf(handle))
    return blocks === disk_blocks ? undefined : { limit_bytes: blocks * bsize, used_bytes: (blocks - bfree) * bsize }
  } catch {
    return undefined
  } finally {
    if (handle !== undefined) closeSync(handle)
  }
}

/** A larger one would not show. */
function limitMax(mount: string): number {
  const { blocks, bsize } = statfsSync(mount)
  return Math.floor((blocks * bsize) / mib - 1) * mib
}

/** The usage of each shows only where there is a limit, so there is one from the beginning. */
async function markAll(effect: Effect, mount: string, node: Node, owner: Owner): Promise<void> {
  const folders = foldersOf(node, owner)
  await effect('quota: mark')
  await setLimits(
    mount,
    folders,
    folders.map(() => limitMax(mount)),
  )
  // In their order: the tables lie below the rest, and are marked anew.
  for (const folder of folders) await mark(folder, owner)
}

/** Twice, for files that a server made in a folder before the folder itself was marked. */
async function mark({ folder, below, project }: Folder, { uid, gid }: Owner): Promise<void> {
  const user = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups', '--']
  const commands = ['chattr -R +P', `chproj -R ${project}`, `chproj -R ${project}`].flatMap((one) => ['-c', one])
  await run(programs.as_user, [...user, programs.io, '-r', ...commands, join(folder, below)])
}

async function setLimits(mount: string, folders: readonly Folder[], limits: readonly number[]): Promise<void> {
  const commands = folders.flatMap(({ project }, at) => ['-c', `limit -p bhard=${limits[at]} ${project}`])
  await run(programs.quota, ['-x', '-D', '/dev/null', '-P', '/dev/null', ...commands, mount])
}

async function run(program: string, args: readonly string[]): Promise<void> {
  await promisify(execFile)(program, [...args], { env: {}, timeout: run_ms_max, maxBuffer: mib })
}

async function isEnforced(mount: string, directory: string): Promise<boolean> {
  const folder = mkdtempSync(join(directory, 'quota-'))
  const probed = { folder, below: '', project: 2 ** 32 - 2 }
  const own = { uid: 0, gid: 0 }
  try {
    await setLimits(mount, [probed], [mib])
    await mark(probed, own)
    writeFileSync(join(folder, 'file'), Buffer.alloc(2 * mib))
    return false
  } catch (error) {
    return isDiskFull(error)
  } finally {
    await removeTree(folder)
    await setLimits(mount, [probed], [0]).catch(() => undefined)
  }
}

function wholeMib(bytes: number): number {
  return Math.ceil(bytes / mib) * mib
}
