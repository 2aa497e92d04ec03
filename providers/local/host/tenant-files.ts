// Entries below a folder that a service's own user may write (data, log, archive, sockets, the pooler's own), touched by a
// process that has more rights than that user. The user may put a link, a pipe or a folder anywhere below, and swap one for
// another at any moment. This is the only module that touches such entries (checked by test/tidy.test.ts).
// 1. The folder's own name lies in a folder of ours and is trusted. From there on each component is opened below the handle of
//    the one before, and no link is followed: `/proc/self/fd/<handle>/<name>` does what openat does.
// 2. A file is read, written and handed over by its handle, and only a regular file that belongs to the folder's owner. No open
//    waits for the other end of a pipe.
// 3. Names are removed and renamed below a handle; the system follows no link in the last component of either.
// 4. Any other entry is `Planted`, an error that names it.
import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats, statSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { Socket } from 'node:net'
import { basename, dirname } from 'node:path'
import type { Owner } from '../../host/user-map.ts'
import { errorCode, readFrom, text_bytes_max, undefinedIfAbsent } from '../../host/read.ts'
import { entriesOf, namesIn } from './entries.ts'
import { as_folder, pathOf } from './handle.ts'
import { removeTree } from './remove-tree.ts'
import { syncOne } from '../../host/sync.ts'

/** The message is for the tenant, who alone can undo it. */
export class Planted extends Error {
  override readonly name = 'Planted'
  constructor(folder: string, path: string, what: string) {
    super(`${basename(folder)}/${path} of the service is ${what}; put back what PostgreSQL had there`)
  }
}

const as_file = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const as_new_file = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
/** O_PATH, which Node has no name for: a handle of the entry itself, whatever it is, without opening it. */
const as_entry = 0o10000000 | constants.O_NOFOLLOW

/** An archive of eight terabytes has so many. */
const names_max = 1_000_000

/** The caller closes the handle. ENOENT is thrown when there is no such folder. */
export function openFolder(folder: string, below = ''): number {
  let handle = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  let path = ''
  for (const name of below.split('/').filter(Boolean)) {
    const above = handle
    path = path === '' ? name : `${path}/${name}`
    try {
      handle = openSync(`${pathOf(above)}/${name}`, as_folder)
    } catch (error) {
      throw isOtherKind(error) ? new Planted(folder, path, 'no folder') : error
    } finally {
      closeSync(above)
    }
  }
  return handle
}

/** The handle of a regular file of the folder's owner, for the caller to close; undefined when there is none. */
export function openFile(folder: string, path: string): number | undefined {
  return withEntry(folder, path, (entry) => openOwned(folder, path, entry, statSync(folder).uid))
}

/** An open folder below another, for messages about its entries. uid: whose its files must be; absent: any user's. */
export type OpenFolder = { handle: number; folder: string; below: string; uid?: number | undefined }

/** The same for a file in an open folder. ENOENT is thrown when there is none. */
export function openIn({ handle, folder, below, uid }: OpenFolder, name: string): number {
  const path = below === '' ? name : `${below}/${name}`
  return openOwned(folder, path, `${pathOf(handle)}/${name}`, uid)
}

/** The beginning of a file; undefined when there is none. */
export function readBytes(folder: string, path: string, bytes_max: number): Buffer | undefined {
  const file = openFile(folder, path)
  if (file === undefined) return undefined
  try {
    return readFrom(file, bytes_max)
  } finally {
    closeSync(file)
  }
}

export function readText(folder: string, path: string): string | undefined {
  return readBytes(folder, path, text_bytes_max)?.toString()
}

/** Of the entry itself, also where it is a link; undefined when there is none. */
export function findEntry(folder: string, path: string): Stats | undefined {
  return withEntry(folder, path, (entry) => lstatSync(entry, { throwIfNoEntry: false }))
}

/** ENOENT is thrown when there is no such folder. */
export async function listNames(folder: string, below = ''): Promise<string[]> {
  const handle = openFolder(folder, below)
  try {
    const names = await namesIn(pathOf(handle), names_max + 1)
    if (names.length <= names_max) return names
    throw new Planted(folder, below, `a folder of more than ${names_max} entries`)
  } finally {
    closeSync(handle)
  }
}

/** Every entry with its stats; entries that are removed meanwhile are left out. Other work has its turns in between. */
export async function* listStats(folder: string, below = ''): AsyncGenerator<[name: string, stats: Stats]> {
  const handle = openFolder(folder, below)
  try {
    for await (const { name } of entriesOf(pathOf(handle))) {
      const stats = lstatSync(`${pathOf(handle)}/${name}`, { throwIfNoEntry: false })
      if (stats) yield [name, stats]
    }
  } finally {
    closeSync(handle)
  }
}

/** Makes the file hold this text, atomically, as a file of this owner. `durable`: it is on the disk afterwards. */
export async function replaceFile(
  folder: string,
  path: string,
  text: string | Buffer,
  { owner, durable = false }: { owner: Owner | undefined; durable?: boolean },
): Promise<void> {
  await withFolder(folder, dirname(path), async (parent) => {
    const [entry, aside] = [`${parent}/${basename(path)}`, `${parent}/${basename(path)}.new`]
    await removeTree(aside)
    const file = await open(aside, as_new_file, 0o600)
    try {
      if (text.length > 0) await file.writeFile(text)
      if (owner) await file.chown(owner.uid, owner.gid)
      if (durable) await file.sync()
    } finally {
      await file.close()
    }
    await rename(aside, entry).catch((error: unknown) => {
      throw errorCode(error) === 'EISDIR' ? new Planted(folder, path, 'a folder') : error
    })
    if (durable) await syncOne(parent)
  })
}

/** Both names are of one folder. */
export async function renameEntry(folder: string, below: string, from: string, to: string): Promise<void> {
  await withFolder(folder, below, (parent) => rename(`${parent}/${from}`, `${parent}/${to}`))
}

/** A file, a link or a whole tree; nothing when there is none. */
export async function removeEntry(folder: string, path: string): Promise<void> {
  const removed = withFolder(folder, dirname(path), (parent) => removeTree(`${parent}/${basename(path)}`))
  await removed.catch(undefinedIfAbsent)
}

/**
 * A socket that connects to the server that listens in the folder, whatever path it is given: only to an entry that is
 * a socket of the folder's owner, because a link would lead to the server of another service.
 */
export function newSocketTo(folder: string, name: string): Socket {
  const socket = new Socket()
  const connect = socket.connect.bind(socket)
  socket.connect = () => {
    let handle: number | undefined
    try {
      handle = openSocket(folder, name)
      // The connection to the server is made when this returns.
      return connect({ path: pathOf(handle) })
    } catch (error) {
      return socket.destroy(error instanceof Error ? error : new Error(String(error)))
    } finally {
      if (handle !== undefined) closeSync(handle)
    }
  }
  return socket
}

function openSocket(folder: string, name: string): number {
  const handle = openSync(`${folder}/${name}`, as_entry)
  try {
    // Where the disk fails, the entry is opened all the same, and neither of these is known.
    const stats = fstatSync(handle)
    if (stats.isSocket() && stats.uid === statSync(folder).uid) return handle
    throw new Planted(folder, name, stats.isSocket() ? 'a socket of another user' : kindOf(stats))
  } catch (error) {
    closeSync(handle)
    throw error
  }
}

/** What `work` returns for the entry, reached below the handle of its folder; undefined when there is no such folder. */
function withEntry<Value>(folder: string, path: string, work: (entry: string) => Value): Value | undefined {
  let handle: number | undefined
  try {
    const below = dirname(path)
    // An entry directly below a name of ours needs no handle: there is no component between the two that could be a link.
    if (below === '.') return work(`${folder}/${path}`)
    handle = openFolder(folder, below)
    return work(`${pathOf(handle)}/${basename(path)}`)
  } catch (error) {
    return undefinedIfAbsent(error)
  } finally {
    if (handle !== undefined) closeSync(handle)
  }
}

async function withFolder<T>(folder: string, below: string, work: (parent: string) => Promise<T>): Promise<T> {
  const handle = openFolder(folder, below === '.' ? '' : below)
  try {
    return await work(pathOf(handle))
  } finally {
    closeSync(handle)
  }
}

function openOwned(folder: string, path: string, entry: string, uid: number | undefined): number {
  const file = openEntry(folder, path, entry)
  const stats = fstatSync(file)
  if (stats.isFile() && (uid === undefined || stats.uid === uid)) return file
  closeSync(file)
  throw new Planted(folder, path, stats.isFile() ? 'a file of another user' : kindOf(stats))
}

function openEntry(folder: string, path: string, entry: string): number {
  try {
    return openSync(entry, as_file)
  } catch (error) {
    // Opening a socket fails with ENXIO.
    const what = { ELOOP: 'a link', ENXIO: 'a socket' }[errorCode(error) ?? '']
    throw what === undefined ? error : new Planted(folder, path, what)
  }
}

const isOtherKind = (error: unknown) => ['ENOTDIR', 'ELOOP'].includes(errorCode(error) ?? '')

function kindOf(stats: Stats): string {
  if (stats.isSymbolicLink()) return 'a link'
  if (stats.isFIFO()) return 'a pipe'
  if (stats.isDirectory()) return 'a folder'
  return stats.isSocket() ? 'a socket' : 'no regular file'
}
