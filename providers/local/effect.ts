// Every change that the local provider makes to the world is announced here first, by a stable name: the crash tests
// kill the process at each of them. The two changes that recur everywhere, a whole file and a folder, live here too:
// both look first, and both can be cut off at any moment and repeated.
import { closeSync, lstatSync, openSync, readSync, type Stats, statSync } from 'node:fs'
import { chmod, chown, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { removeTree } from './snapshot/tree.ts'
import { read_safely } from './snapshot/live-file.ts'
import type { Owner } from './layout.ts'

const text_bytes_max = 1024 ** 2
const scratch = Buffer.allocUnsafeSlow(16_384)

/** Awaited before a change, with its name, such as `data directory: rename into place`. */
export type Effect = (name: string) => Promise<void>

export function newEffect(hook: ((name: string) => void | Promise<void>) | undefined): Effect {
  return async (name) => hook?.(name)
}

/** Makes the file hold exactly this text, readable for the owner's group at most. Readers see the old or the new text. */
export async function ensureFile(effect: Effect, name: string, path: string, text: string, owner: Owner | undefined) {
  if ((await readIfThere(path)) === text) return
  const aside = `${path}.new`
  await effect(`${name}: write aside`)
  await rm(aside, { force: true })
  await writeFile(aside, text, { mode: 0o600, flag: 'wx' })
  if (owner) {
    await chown(aside, 0, owner.gid)
    await chmod(aside, 0o640)
  }
  await effect(`${name}: rename into place`)
  await rename(aside, path)
}

/** Makes the folder exist with this mode and owner; its parent must exist. */
export async function ensureFolder(effect: Effect, name: string, path: string, mode: number, owner?: Owner) {
  let seen = await statIfThere(path)
  if (!seen) {
    await effect(`${name}: make`)
    // Another server that starts at the same moment may be faster.
    await mkdir(path, { mode }).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error
    })
    seen = await stat(path)
  }
  if (owner && (seen.uid !== owner.uid || seen.gid !== owner.gid)) {
    await effect(`${name}: chown`)
    await chown(path, owner.uid, owner.gid)
  }
  if ((seen.mode & 0o777) !== mode) {
    await effect(`${name}: chmod`)
    await chmod(path, mode)
  }
}

/** Removes a file or a whole tree, when it is there. */
export async function ensureRemoved(effect: Effect, name: string, path: string): Promise<void> {
  const seen = lstatSync(path, { throwIfNoEntry: false })
  if (!seen) return
  await effect(`${name}: remove`)
  await (seen.isDirectory() ? removeTree(path) : rm(path, { force: true }))
}

// A look asks for dozens of small things that lie in memory: microseconds each, where a detour through other threads takes
// a hundred of them. So they are asked for at once; whatever writes goes to other threads, because a busy disk may block it.

export async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    return undefinedIfAbsent(error)
  }
}

/** The text of a small file. Some lie in folders of a service's user: neither a link, a pipe nor a huge file may harm us. */
export async function readIfThere(path: string): Promise<string | undefined> {
  let file: number | undefined
  try {
    file = openSync(path, read_safely)
    const chunks: Buffer[] = []
    for (let size = 0; size < text_bytes_max;) {
      const bytes = readSync(file, scratch)
      if (bytes === 0) break
      chunks.push(Buffer.from(scratch.subarray(0, bytes)))
      size += bytes
    }
    return Buffer.concat(chunks).toString()
  } catch (error) {
    return undefinedIfAbsent(error)
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** The disk's own word for it, the quota's, and PostgreSQL's. */
export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', '53100'].includes(errorCode(error) ?? '')
}

function undefinedIfAbsent(error: unknown): undefined {
  const code = errorCode(error)
  // ESRCH is how /proc says that the process went away while it was being read.
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ESRCH') return undefined
  throw error
}
