// Copies, settles and removes whole directory trees, as fast as the file system allows and without blocking the event loop.
// Promises: blocks are shared where the file system can (FICLONE), a copy is private to its owner unless told otherwise,
// and nobody but the caller can enter a copy before it is complete.
// None of it is atomic: a caller copies to a name nobody looks at, and renames.
import { execFile } from 'node:child_process'
import { chmodSync, constants, lchownSync, lstatSync } from 'node:fs'
import {
  chmod,
  copyFile,
  lchown,
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  rmdir,
  symlink,
  unlink,
} from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Cloning, copyLiveFile, type Seen } from './live-file.ts'
import { requireRoom } from '../room.ts'

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

/** Returns the bytes of the files in the copy. */
export async function copyTree(from: string, to: string, options: CopyOptions = {}): Promise<number> {
  await mkdir(to, { mode: 0o700 })
  const { directories, others } = await listTree(from, options)
  for (const { path } of directories) await mkdir(join(to, path), { mode: 0o700 })
  const live = options.tolerate_missing ? { root: await realpath(from), cloning: { possible: true } } : undefined
  let [bytes, room_seen_at] = [0, Number.NEGATIVE_INFINITY]
  const breathe = newBreath()
  await inLanes(others, breathe, (entry) => {
    options.signal?.throwIfAborted()
    if (options.leave_room && bytes - room_seen_at >= room_every_bytes) {
      requireRoom(to)
      room_seen_at = bytes
    }
    const add = (size: number) => void (bytes += size)
    const size = copyEntry(from, to, entry, options, live)
    return size instanceof Promise ? size.then(add) : add(size)
  })
  // A directory is handed over after its contents, so that its new owner cannot swap entries under a running copy.
  for (const { path } of directories.toReversed().concat({ path: '', kind: 'directory' })) {
    if (options.public) await chmod(join(to, path), 0o755)
    if (options.owner) await lchown(join(to, path), options.owner.uid, options.owner.gid)
  }
  return bytes
}

/** Hands a whole tree to a user, the root last: until then nobody else can enter it. */
export async function chownTree(path: string, owner: { uid: number; gid: number }): Promise<void> {
  const { directories, others } = await listTree(path, {})
  const breathe = newBreath()
  for (const entry of [...others, ...directories.toReversed(), { path: '' }]) {
    await breathe()
    lchownSync(join(path, entry.path), owner.uid, owner.gid)
  }
}

/** Makes a freshly written tree durable: one flush of its file system, which beats an fsync of each of a thousand files. */
export async function syncTree(path: string): Promise<void> {
  try {
    await promisify(execFile)('sync', ['-f', path], { env: { PATH: process.env.PATH ?? '/usr/bin:/bin' } })
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error
    const { directories, others } = await listTree(path, {})
    const files = others.filter((entry) => entry.kind === 'file')
    await inLanes([...files, ...directories, { path: '' }], newBreath(), (entry) => syncEntry(join(path, entry.path)))
  }
}

export async function removeTree(path: string): Promise<void> {
  const { directories, others } = await listTree(path, { tolerate_missing: true })
  await inLanes(others, newBreath(), (entry) => unlessMissing(unlink(join(path, entry.path))))
  for (const entry of directories.toReversed()) await unlessMissing(rmdir(join(path, entry.path)))
  await unlessMissing(rmdir(path))
}

/** Each lane has one file under way. The four threads behind Node's file calls are busy from here on; more lanes gain nothing. */
const lanes = 16

/** A small part of the space that is left to others: most files have less, and need not be asked about one by one. */
const room_every_bytes = 1024 ** 2

/** Small things are done at once, without other threads: so long, until everybody else has a turn. */
const at_a_stretch_ms = 4

/** What is to be awaited before each small thing of many, in whichever lane; undefined: it may go on. */
function newBreath(): () => Promise<void> | undefined {
  let since = performance.now()
  let pausing: Promise<void> | undefined
  return () => {
    if (performance.now() - since > at_a_stretch_ms) {
      pausing ??= nextTurn().then(() => {
        pausing = undefined
        since = performance.now()
      })
    }
    return pausing
  }
}

type Live = { root: string; cloning: Cloning }

type Entry = { path: string; kind: 'directory' | 'file' | 'symlink' | 'other' }

/** Parents come before their children. */
async function listTree(root: string, options: CopyOptions): Promise<{ directories: Entry[]; others: Entry[] }> {
  const directories: Entry[] = []
  const others: Entry[] = []
  let level = ['']
  while (level.length > 0) {
    const listings = await Promise.all(level.map((path) => listDirectory(root, path, options)))
    const found = listings.flat()
    const below = found.filter((entry) => entry.kind === 'directory')
    directories.push(...below)
    others.push(...found.filter((entry) => entry.kind !== 'directory'))
    level = below.map((entry) => entry.path)
  }
  return { directories, others }
}

async function listDirectory(root: string, path: string, options: CopyOptions): Promise<Entry[]> {
  const listing = readdir(join(root, path), { withFileTypes: true })
  const found = options.tolerate_missing ? await unlessMissing(listing) : await listing
  const entries = (found ?? []).map((entry): Entry => {
    const kind = entry.isDirectory()
      ? 'directory'
      : entry.isFile()
        ? 'file'
        : entry.isSymbolicLink()
          ? 'symlink'
          : 'other'
    return { path: path === '' ? entry.name : `${path}/${entry.name}`, kind }
  })
  return options.skip ? entries.filter((entry) => !options.skip?.(entry.path)) : entries
}

/** The size of the copy; at once where that is quicker than waiting for other threads. */
function copyEntry(from: string, to: string, entry: Entry, options: CopyOptions, live: Live | undefined) {
  const [source, target] = [join(live?.root ?? from, entry.path), join(to, entry.path)]
  const settled = (seen: Seen | undefined) => settleEntry(target, entry, options, seen)
  const forgiven = (error: unknown) => {
    if (options.tolerate_missing && isCode(error, 'ENOENT')) return 0
    throw error
  }
  // Sockets and pipes belong to the process that made them.
  if (entry.kind === 'other') return 0
  let seen: Seen | Promise<Seen | undefined>
  try {
    seen =
      live && entry.kind === 'file' ? copyLiveFile(source, target, live.cloning) : copyQuietly(source, target, entry)
  } catch (error) {
    return forgiven(error)
  }
  return seen instanceof Promise ? seen.then(settled, forgiven) : settled(seen)
}

async function copyQuietly(source: string, target: string, { kind }: Entry): Promise<undefined> {
  if (kind === 'symlink') await symlink(await readlink(source), target)
  else await copyFile(source, target, constants.COPYFILE_FICLONE)
}

function settleEntry(target: string, entry: Entry, options: CopyOptions, copied: Seen | undefined): number {
  // Microseconds each on an inode just made; a round trip through the thread pool costs more: a fifth of the whole copy.
  const seen = copied ?? lstatSync(target)
  const wanted_mode = options.public ? publicMode(seen.mode) : 0o600
  if (entry.kind === 'file' && seen.mode !== (constants.S_IFREG | wanted_mode)) chmodSync(target, wanted_mode)
  if (options.owner) lchownSync(target, options.owner.uid, options.owner.gid)
  return seen.size
}

function publicMode(mode: number): number {
  return mode & 0o100 ? 0o755 : 0o644
}

async function syncEntry(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * On the first failure the lanes stop, and it is thrown when all of them have: nothing goes on behind the caller's back.
 * A lane awaits only what there is to await: of many small things most of the time would be that.
 */
async function inLanes<Item>(
  items: readonly Item[],
  breathe: () => Promise<void> | undefined,
  work: (item: Item) => Promise<unknown> | void,
): Promise<void> {
  let next = 0
  let failed = false
  const lane = async () => {
    while (!failed && next < items.length) {
      const pause = breathe()
      if (pause) {
        await pause
        continue
      }
      const item = items[next++] as Item // within bounds: checked above, without a pause since
      try {
        const working = work(item)
        if (working) await working
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: Math.min(lanes, items.length) }, lane))
  const failure = ends.find((end) => end.status === 'rejected')
  if (failure) throw failure.reason
}

async function unlessMissing<Value>(promise: Promise<Value>): Promise<Value | undefined> {
  try {
    return await promise
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
