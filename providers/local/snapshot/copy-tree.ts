// Copies whole directory trees, as fast as the file system allows and without blocking the event loop for long.
// Promises: blocks are shared where the file system can (FICLONE), a copy is private to its owner unless told otherwise,
// nobody but the caller can enter a copy before it is complete, and as root we are not led out of the tree by whoever owns it.
// None of it is atomic: a caller copies to a name nobody looks at, and renames.
import {
  chmodSync,
  closeSync,
  constants,
  type Dirent,
  lchownSync,
  mkdirSync,
  openSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { type Cloning, copyOpened, gone, pathOf, type Seen } from './live-file.ts'
import { errorCode, read_safely } from '../look.ts'
import { requireRoom } from '../room.ts'
import { type Breath, newBreath } from '../tree.ts'

/** At a time. The four threads behind Node's file calls are busy from here on. */
const large_files_max = 16
/** A small part of the space that is left to others: most files have less, and need not be asked about one by one. */
const room_every_bytes = 1024 ** 2

export type CopyOptions = {
  owner?: { uid: number; gid: number }
  /** Leaves out an entry, with all below it. */
  skip?: (relative_path: string) => boolean
  /** The tree is alive: an entry that vanishes or is replaced between seeing and copying it is left out. */
  tolerate_missing?: boolean
  /** Breaks the copy off between two files. */
  signal?: AbortSignal
  /** Leaves the last space of the disk to the databases that run there. */
  leave_room?: boolean
  /** For programs, not data: everybody may read, and run what the owner may run. */
  public?: boolean
}

/** What a copy has come to. */
type Copying = CopyOptions & {
  /** Without links in it. */
  root: string
  to: string
  cloning: Cloning
  breathe: Breath
  directories: string[]
  bytes: number
  room_seen_at: number
  /** Large files, in other threads. */
  under_way: Set<Promise<void>>
  failures: unknown[]
}

/** Returns the bytes of the files in the copy. */
export async function copyTree(from: string, to: string, options: CopyOptions = {}): Promise<number> {
  const copying: Copying = {
    ...options,
    root: await realpath(from),
    to,
    cloning: { possible: true, quiet: options.tolerate_missing !== true },
    breathe: newBreath(),
    directories: [],
    bytes: 0,
    room_seen_at: Number.NEGATIVE_INFINITY,
    under_way: new Set(),
    failures: [],
  }
  try {
    await copyFolder(copying, '')
  } catch (error) {
    copying.failures.push(error)
  }
  // Nothing goes on behind the caller's back.
  await Promise.all(copying.under_way)
  if (copying.failures.length > 0) throw copying.failures[0]
  // A directory is handed over after its contents, so that its new owner cannot swap entries under a running copy.
  for (const path of copying.directories.toReversed()) {
    if (options.public) chmodSync(join(to, path), 0o755)
    if (options.owner) lchownSync(join(to, path), options.owner.uid, options.owner.gid)
  }
  return copying.bytes
}

/** Whatever is in it is reached by the open folder: renaming it, or another above it, leads nowhere else. */
async function copyFolder(copying: Copying, path: string): Promise<void> {
  const folder = forgiving(copying, () => openFolder(copying, path))
  if (folder === undefined) return
  const below: string[] = []
  try {
    mkdirSync(join(copying.to, path), { mode: 0o700 })
    copying.directories.push(path)
    for (const entry of await readdir(pathOf(folder), { withFileTypes: true })) {
      const entry_path = path === '' ? entry.name : `${path}/${entry.name}`
      if (copying.skip?.(entry_path)) continue
      const pause = copying.breathe()
      if (pause) await pause
      if (copying.under_way.size >= large_files_max) await Promise.race(copying.under_way)
      if (copying.failures.length > 0) throw copying.failures[0]
      copying.signal?.throwIfAborted()
      if (entry.isDirectory()) below.push(entry_path)
      else forgiving(copying, () => copyEntry(copying, `${pathOf(folder)}/${entry.name}`, entry, entry_path))
    }
  } finally {
    closeSync(folder)
  }
  for (const one of below) await copyFolder(copying, one)
}

function openFolder({ root }: Copying, path: string): number {
  const real_path = path === '' ? root : `${root}/${path}`
  const folder = openSync(real_path, read_safely | constants.O_DIRECTORY)
  if (readlinkSync(pathOf(folder)) === real_path) return folder
  closeSync(folder)
  throw gone(real_path)
}

/** Undefined when there is nothing any more where something was seen, in a tree that is alive. */
function forgiving<Value>({ tolerate_missing }: CopyOptions, work: () => Value): Value | undefined {
  try {
    return work()
  } catch (error) {
    if (tolerate_missing && errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function copyEntry(copying: Copying, source: string, entry: Dirent, path: string): void {
  const target = join(copying.to, path)
  if (entry.isSymbolicLink()) {
    symlinkSync(readlinkSync(source), target)
    if (copying.owner) lchownSync(target, copying.owner.uid, copying.owner.gid)
  }
  // Sockets and pipes belong to the process that made them.
  if (!entry.isFile()) return
  if (copying.leave_room && copying.bytes - copying.room_seen_at >= room_every_bytes) {
    requireRoom(copying.to)
    copying.room_seen_at = copying.bytes
  }
  const copied = copyOpened(openSync(source, read_safely), target, copying.cloning)
  if (!(copied instanceof Promise)) return settleFile(copying, target, copied)
  const working = copied
    .then((seen) => settleFile(copying, target, seen))
    .catch((error: unknown) => void copying.failures.push(error))
    .finally(() => copying.under_way.delete(working))
  copying.under_way.add(working)
}

/** At once: microseconds each on an inode just made, and a round trip through other threads costs more. */
function settleFile(copying: Copying, target: string, seen: Seen): void {
  // It has either its source's mode or a private one.
  if (copying.public) chmodSync(target, publicMode(seen.mode))
  else if (seen.mode !== (constants.S_IFREG | 0o600)) chmodSync(target, 0o600)
  if (copying.owner) lchownSync(target, copying.owner.uid, copying.owner.gid)
  copying.bytes += seen.size
}

function publicMode(mode: number): number {
  return mode & 0o100 ? 0o755 : 0o644
}
