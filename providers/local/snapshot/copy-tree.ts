// Copies whole directory trees, as fast as the file system allows and without blocking the event loop for long.
// Promises: blocks are shared where the file system can (FICLONE), a copy is private to its owner unless told otherwise,
// no other user can enter a copy before the caller hands its root over, and its owner cannot lead us out of the tree.
// None of it is atomic: a caller copies to a name nobody looks at, and renames.
import { chmodSync, closeSync, lchownSync, mkdirSync, readlinkSync, statSync, symlinkSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Copiers } from './copiers.ts'
import { type Copied, copyBatch, forgiving, type Manner, settleFile } from './copy-batch.ts'
import { type Cloning, copyOpened } from './live-file.ts'
import { requireRoom } from '../host/room.ts'
import { openFolder, openIn, type OpenFolder, pathOf, Planted } from '../host/tenant-files.ts'
import { type Breath, newBreath } from '../host/tree.ts'

/** At a time. The four threads behind Node's file calls are busy from here on. */
const large_files_max = 16
/** A stretch after which others may have their turn. */
const batch_files = 32
/** The folders of most databases, whole: two threads that make files in one folder wait for each other. */
const handed_over_files = 512

export type CopyOptions = Manner & {
  /**
   * A service's user wrote the tree, or what it was copied from: a link or a pipe in it is refused. Where it lies in that user's reach,
   * another user's file is, too; in a snapshot, which is out of it, files that share their blocks have kept their user.
   */
  of_tenant?: 'in its reach' | 'out of its reach'
  /** Leaves out an entry, with all below it. */
  skip?: (relative_path: string) => boolean
  /** Leaves the last space of the disk to the databases that run there. */
  leave_room?: boolean
  /** Breaks the copy off between some files and the next. */
  signal?: AbortSignal
  /** Who copies along. */
  copiers?: Copiers
}

/** What a copy has come to. */
type Copying = CopyOptions & {
  root: string
  /** Whose all files must be; absent: any user's. */
  uid: number | undefined
  to: string
  cloning: Cloning
  breathe: Breath
  directories: string[]
  bytes: number
  large_files: number
  /** What others copy, and large files, in other threads. */
  under_way: Set<Promise<void>>
  failures: unknown[]
}

/** `shares_blocks`: nothing but the names of its files had to be written. */
export type TreeCopy = { bytes: number; shares_blocks: boolean }

export async function copyTree(from: string, to: string, options: CopyOptions = {}): Promise<TreeCopy> {
  const copying: Copying = {
    ...options,
    root: from,
    uid: options.of_tenant === 'in its reach' ? statSync(from).uid : undefined,
    to,
    cloning: {
      possible: true,
      quiet: options.tolerate_missing !== true,
      leave_room: options.leave_room === true,
    },
    breathe: newBreath(),
    directories: [],
    bytes: 0,
    large_files: 0,
    under_way: new Set(),
    failures: [],
  }
  try {
    await copyFolder(copying, '')
  } catch (error) {
    copying.failures.push(error)
  }
  // Nothing goes on behind the caller's back. One may begin others.
  while (copying.under_way.size > 0) await Promise.all(copying.under_way)
  if (copying.failures.length > 0) throw copying.failures[0]
  // A directory is handed over after its contents, so that its new owner cannot swap entries under a running copy; the root by
  // the caller, who may have more to put into it.
  for (const path of copying.directories.toReversed()) {
    if (options.public) chmodSync(join(to, path), 0o755)
    if (options.owner && path !== '') lchownSync(join(to, path), options.owner.uid, options.owner.gid)
  }
  return { bytes: copying.bytes, shares_blocks: copying.cloning.possible }
}

/** Whatever is in it is reached by the open folder: renaming it, or another above it, leads nowhere else. */
type Folder = { from: OpenFolder; to: string; handed_over: Promise<void>[] }

async function copyFolder(copying: Copying, path: string): Promise<void> {
  const { root, uid } = copying
  const handle = forgiving(copying, () => openFolder(root, path))
  if (handle === undefined) return
  const from = { handle, folder: root, below: path, uid }
  const folder: Folder = { from, to: join(copying.to, path), handed_over: [] }
  const below: string[] = []
  try {
    mkdirSync(folder.to, { mode: 0o700 })
    copying.directories.push(path)
    const files: string[] = []
    for (const entry of await readdir(pathOf(handle), { withFileTypes: true })) {
      const entry_path = path === '' ? entry.name : `${path}/${entry.name}`
      if (copying.skip?.(entry_path)) continue
      if (entry.isDirectory()) below.push(entry_path)
      else if (entry.isFile()) files.push(entry.name)
      else if (copying.of_tenant) throw new Planted(root, entry_path, entry.isSymbolicLink() ? 'a link' : 'no file')
      else if (entry.isSymbolicLink()) copyLink(folder, entry.name)
    }
    await copyFiles(copying, folder, files)
  } finally {
    // Others may still reach files by it.
    const unused = Promise.all(folder.handed_over).then(() => closeSync(handle))
    void keep(copying, unused)
  }
  for (const one of below) await copyFolder(copying, one)
}

function copyLink({ from, to }: Folder, name: string): void {
  symlinkSync(readlinkSync(`${pathOf(from.handle)}/${name}`), join(to, name))
}

/** By others, as far as they have time; the rest here. */
async function copyFiles(copying: Copying, folder: Folder, names: string[]): Promise<void> {
  while (names.length > 0) {
    const pause = copying.breathe()
    if (pause) await pause
    requireGoing(copying)
    const free = copying.copiers?.isFree() ? copying.copiers : undefined
    const some = names.splice(0, free ? handed_over_files : batch_files)
    const { from, to, handed_over } = folder
    const batch = { ...mannerOf(copying), from, to, names: some, cloning: copying.cloning }
    if (free) {
      const settled = free.ask(batch).then((copied) => settleBatch(copying, folder, copied))
      handed_over.push(keep(copying, settled))
    } else {
      await settleBatch(copying, folder, copyBatch(batch))
    }
  }
}

/** Before each step. */
function requireGoing({ failures, signal, cloning, to }: Copying): void {
  if (failures.length > 0) throw failures[0]
  signal?.throwIfAborted()
  if (cloning.leave_room) requireRoom(to)
}

/** All of the options that another thread can be told. */
function mannerOf({ owner, tolerate_missing = false, ...rest }: Manner): Manner {
  return { tolerate_missing, public: rest.public ?? false, ...(owner && { owner }) }
}

/** What is left to us begins while the folder is open. */
async function settleBatch(copying: Copying, { from, to }: Folder, copied: Copied): Promise<void> {
  copying.bytes += copied.bytes
  copying.cloning.possible &&= copied.cloning_possible
  for (const name of copied.large) {
    while (copying.large_files >= large_files_max) await Promise.race(copying.under_way)
    requireGoing(copying)
    const source = forgiving(copying, () => openIn(from, name))
    if (source !== undefined) void keep(copying, copyLarge(copying, source, join(to, name)))
  }
}

async function copyLarge(copying: Copying, source: number, target: string): Promise<void> {
  copying.large_files += 1
  try {
    const seen = await copyOpened(source, target, copying.cloning)
    settleFile(copying, target, seen)
    copying.bytes += seen.size
  } finally {
    copying.large_files -= 1
  }
}

/** Never rejects: a failure is told at the end, and keeps others from beginning. */
function keep(copying: Copying, work: Promise<void>): Promise<void> {
  const kept = work
    .catch((error: unknown) => void copying.failures.push(error))
    .finally(() => copying.under_way.delete(kept))
  copying.under_way.add(kept)
  return kept
}
