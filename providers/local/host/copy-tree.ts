// Copies directory trees and single files, also those of a running PostgreSQL, which writes, cuts short, replaces and removes
// them meanwhile.
// 1. Blocks are shared where the file system can (FICLONE). A copy is private to its owner unless it is public.
// 2. No other user can enter a copy before the caller hands its root over, and the tree's owner cannot lead the walker out of
//    the tree: entries are reached by tenant-files.ts, which follows no link.
// 3. It ends: Node's own copyFile loops for ever when its source shrinks, so it is asked for shared blocks alone; and a file is
//    copied as long as it is when it is opened, as PostgreSQL's own backups do, whatever is added to it meanwhile.
// 4. None of it is atomic or durable: a caller copies aside, flushes by syncTree, and renames.
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lchownSync,
  mkdirSync,
  openSync,
  read,
  readSync,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs'
import { copyFile, readlink, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Owner } from '../../host/user-map.ts'
import { errorCode, isDiskFull } from '../../host/read.ts'
import { diskBytes, requireDiskSpace } from './disk-space.ts'
import { entriesOf } from './entries.ts'
import { lengthOf } from './storage.ts'
import { pathOf } from './handle.ts'
import { openFile, openFolder, openIn, type OpenFolder, Planted } from './tenant-files.ts'
import { inLanes } from '../../host/together.ts'

type CopyOptions = {
  /** Who owns all of the copy but its root; absent: the server's user. */
  owner?: Owner
  /** The tree is alive: an entry that vanishes between its listing and its copy is left out. */
  tolerate_missing?: boolean
  /** For programs, not data: every user may read, and run what the owner may run. */
  public?: boolean
  /**
   * A service's user wrote the tree, or its source: a link or a pipe in it is refused. Where it lies in that user's reach,
   * another user's file is refused, too; a snapshot is out of its reach, and files there that share blocks have kept their user.
   */
  of_tenant?: 'in its reach' | 'out of its reach'
  /** Leaves out an entry, with all below it. */
  skip?: (relative_path: string) => boolean
  /** Leaves the last space of the disk to the databases that run there: a copy that does not fit is not begun. */
  keep_reserve?: boolean
  /** Aborts the copy between two files, and within a large one. */
  signal?: AbortSignal
}

/** Whether files can share blocks here: false from the first file on that cannot. */
export type Sharing = { possible: boolean }

/** PostgreSQL's own files lie in five folders at most; each is opened from the top. */
const depth_max = 16

type Copying = CopyOptions & {
  root: string
  uid: number | undefined
  to: string
  sharing: Sharing
  bytes: number
  bytes_max: number
  files: number
  /** Other work of this process, before the next file. */
  turn: Promise<void>
}

/**
 * Copies share holes as they share blocks, but a checksum and a backup read them: a service's user could make both read for ever. Where the
 * file system compresses, honest files are longer than the disk, too.
 */
const longest_disks = 4
const chunk_bytes = 256 * 1024
/** Of the thousand files of a small cluster nearly all are smaller: by a thread, each would take many times as long. */
const small = Buffer.allocUnsafeSlow(64 * 1024)
/** About two milliseconds' worth of small ones. */
const files_per_turn = 100

/** Returns how many bytes its files have. */
export async function copyTree(from: string, to: string, options: CopyOptions = {}): Promise<number> {
  const root = openFolder(from)
  const uid = options.of_tenant === 'in its reach' ? fstatSync(root).uid : undefined
  closeSync(root)
  if (options.keep_reserve) await requireSpaceToCopy(from, to, options.skip)
  const bytes_max = options.of_tenant ? longest_disks * diskBytes(dirname(to)) : Infinity
  const counts = { bytes: 0, bytes_max, files: 0 }
  const copying = { ...options, root: from, uid, to, sharing: { possible: true }, ...counts, turn: nextTurn() }
  await copyFolder(copying, '')
  return copying.bytes
}

/**
 * Fails as a full disk does when a copy would not fit, unless its blocks are shared: a copy that ends for want of space has taken that of
 * the databases at full speed, for nothing.
 */
export async function requireSpaceToCopy(from: string, to: string, skip?: (path: string) => boolean): Promise<void> {
  requireDiskSpace(dirname(to), (await sharesBlocks(from, to)) ? 0 : await lengthOf(from, skip))
}

/** Tried out with one of its files, which is where the copy is to be for a moment. */
async function sharesBlocks(from: string, to: string): Promise<boolean> {
  const handle = openFolder(from)
  try {
    for await (const entry of entriesOf(pathOf(handle))) {
      const opened = () => openIn({ handle, folder: from, below: '' }, entry.name)
      const source = entry.isFile() ? unlessMissing({ tolerate_missing: true }, opened) : undefined
      if (source === undefined) continue
      try {
        await copyFile(pathOf(source), to, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL)
        unlinkSync(to)
        return true
      } catch {
        return false
      } finally {
        closeSync(source)
      }
    }
    return false
  } finally {
    closeSync(handle)
  }
}

type UpTo = Pick<FileOptions, 'sharing' | 'keep_reserve' | 'signal'> & { bytes_max: number }

/** A file of a folder that a service's user may write, and of which it may be no more. ENOENT is thrown when it is removed. */
export async function copyFileIn(folder: string, path: string, target: string, options: UpTo): Promise<void> {
  const source = openFile(folder, path)
  if (source === undefined) throw Object.assign(new Error(`${path} has been removed`), { code: 'ENOENT' })
  await copyUpTo(source, { folder, path }, target, options)
}

/** The same of a folder of ours, whose files may be any user's. */
export async function copyFileOf(folder: string, name: string, target: string, options: UpTo): Promise<void> {
  const handle = openFolder(folder)
  try {
    await copyUpTo(openIn({ handle, folder, below: '' }, name), { folder, path: name }, target, options)
  } finally {
    closeSync(handle)
  }
}

async function copyUpTo(
  source: number,
  { folder, path }: { folder: string; path: string },
  target: string,
  { bytes_max, ...options }: UpTo,
): Promise<void> {
  try {
    if (options.keep_reserve) requireDiskSpace(dirname(target))
    if (fstatSync(source).size > bytes_max) throw new Planted(folder, path, 'larger than it can be')
  } catch (error) {
    closeSync(source)
    throw error
  }
  await copyOpened(source, target, options)
}

async function copyFolder(copying: Copying, path: string): Promise<void> {
  const { root, uid, of_tenant, owner } = copying
  if (of_tenant && path.split('/').length > depth_max)
    throw new Planted(root, path, 'deeper than any folder of PostgreSQL')
  const handle = unlessMissing(copying, () => openFolder(root, path))
  if (handle === undefined) return
  const to = join(copying.to, path)
  const [files, folders]: [string[], string[]] = [[], []]
  try {
    mkdirSync(to, { mode: 0o700 })
    for await (const entry of entriesOf(pathOf(handle))) {
      const entry_path = path === '' ? entry.name : `${path}/${entry.name}`
      if (copying.skip?.(entry_path)) continue
      if (entry.isDirectory()) folders.push(entry_path)
      else if (entry.isFile()) files.push(entry.name)
      else if (of_tenant) throw new Planted(root, entry_path, entry.isSymbolicLink() ? 'a link' : 'no file')
      else if (entry.isSymbolicLink()) {
        await symlink(await readlink(`${pathOf(handle)}/${entry.name}`), join(to, entry.name))
      }
    }
    // By the open folder: renaming it, or a folder above it, does not change what is read.
    const from = { handle, folder: root, below: path, uid }
    await inLanes(files, (name) => copyEntry(copying, from, name, join(to, name)))
  } finally {
    closeSync(handle)
  }
  for (const one of folders) await copyFolder(copying, one)
  // After its contents, so that its new owner cannot swap entries under a running copy.
  if (copying.public) chmodSync(to, 0o755)
  if (owner && path !== '') lchownSync(to, owner.uid, owner.gid)
}

async function copyEntry(copying: Copying, from: OpenFolder, name: string, target: string): Promise<void> {
  await copying.turn
  copying.signal?.throwIfAborted()
  // A large file asks again while it is copied.
  if (copying.keep_reserve && copying.files % files_per_turn === 0) requireDiskSpace(copying.to)
  const source = unlessMissing(copying, () => openIn(from, name))
  if (source === undefined) return
  if (copying.bytes + fstatSync(source).size > copying.bytes_max) {
    closeSync(source)
    throw new Planted(from.folder, join(from.below, name), 'longer than what the disk could hold')
  }
  const bytes = await copyOpened(source, target, copying)
  copying.bytes += bytes
  copying.files += 1
  if (copying.files % files_per_turn === 0) copying.turn = nextTurn()
}

type FileOptions = Pick<CopyOptions, 'owner' | 'public' | 'keep_reserve' | 'signal'> & { sharing: Sharing }

/** Closes the source. Returns how many bytes it had. */
async function copyOpened(source: number, target: string, options: FileOptions): Promise<number> {
  try {
    const { size, mode } = fstatSync(source)
    const shared = await isShared(source, target, options.sharing)
    if (!shared) await copyBytes(source, target, size, options)
    // A file with shared blocks has its source's mode and user.
    const public_mode = mode & 0o100 ? 0o755 : 0o644
    if (shared || options.public) chmodSync(target, options.public ? public_mode : 0o600)
    const { uid, gid } = options.owner ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
    if (shared || options.owner) lchownSync(target, uid, gid)
    return size
  } finally {
    closeSync(source)
  }
}

async function isShared(source: number, target: string, sharing: Sharing): Promise<boolean> {
  if (!sharing.possible) return false
  try {
    await copyFile(pathOf(source), target, constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch (error) {
    if (isDiskFull(error)) throw error
    sharing.possible = false
    return false
  }
}

const [readAt, writeAt] = [promisify(read), promisify(write)]

async function copyBytes(
  source: number,
  target: string,
  size: number,
  { keep_reserve, signal }: FileOptions,
): Promise<void> {
  const to = openSync(target, 'w', 0o600)
  try {
    if (size <= small.length) {
      const bytes = readSync(source, small, 0, size, 0)
      for (let at = 0; at < bytes;) at += writeSync(to, small, at, bytes - at)
      return
    }
    const chunk = Buffer.allocUnsafe(Math.min(chunk_bytes, size))
    for (let at = 0; at < size;) {
      signal?.throwIfAborted()
      const { bytesRead } = await readAt(source, chunk, 0, Math.min(chunk.length, size - at), at)
      if (bytesRead === 0) return
      for (let done = 0; done < bytesRead;) {
        done += (await writeAt(to, chunk, done, bytesRead - done, at + done)).bytesWritten
      }
      at += bytesRead
      if (keep_reserve) requireDiskSpace(dirname(target))
    }
  } finally {
    closeSync(to)
  }
}

/** Undefined when an entry of a tree that is alive was removed since it was listed. */
function unlessMissing<Value>({ tolerate_missing }: CopyOptions, work: () => Value): Value | undefined {
  try {
    return work()
  } catch (error) {
    if (tolerate_missing && errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
