// Every change that the local provider makes to the world is announced here first, by a stable name: the crash tests
// kill the process at each of them. The changes that recur everywhere, of a whole file and of a folder, live here too: all
// can be killed at any moment and repeated.
import { lstatSync } from 'node:fs'
import { chmod, chown, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorCode, readIfThere, statIfThere } from '../../host/read.ts'
import { removeTree } from './remove-tree.ts'
import { findEntry, removeEntry } from './tenant-files.ts'
import { syncOne } from '../../host/sync.ts'
import type { RequireTurn } from '../../host/turn.ts'
import type { Owner } from '../../host/user-map.ts'

/** Awaited before a change, with its name, such as `data directory: rename into place`. */
export type Effect = (name: string) => Promise<void>

export function newEffect(hook: ((name: string) => void | Promise<void>) | undefined): Effect {
  return async (name) => hook?.(name)
}

/** After the turn is lost (host/turn.ts) no effect begins. */
export function effectInTurn(effect: Effect, requireTurn: RequireTurn): Effect {
  return async (name) => {
    await effect(name)
    requireTurn()
  }
}

/**
 * Makes the file hold exactly this text, readable for the owner's group at most. Readers see the old or the new text; with `flush` also
 * after a loss of power, and the new one for sure when the folder has been flushed, too.
 */
export async function ensureFile(
  effect: Effect,
  name: string,
  path: string,
  text: string,
  owner: Owner | undefined,
  { flush = false } = {},
) {
  if ((await readIfThere(path)) === text) return
  const aside = `${path}.new`
  await effect(`${name}: write aside`)
  await rm(aside, { force: true })
  await writeFile(aside, text, { mode: 0o600, flag: 'wx', flush })
  if (owner) {
    await chown(aside, 0, owner.gid)
    await chmod(aside, 0o640)
  }
  await effect(`${name}: rename into place`)
  await rename(aside, path)
}

/**
 * The same where a full disk must not stand in the way: a text of as many bytes is written over the one before, for a disk without space
 * has none for a second file either.
 */
export async function ensureOverwritten(
  effect: Effect,
  name: string,
  path: string,
  text: string,
  owner: Owner | undefined,
) {
  const before = await readIfThere(path)
  if (before === text) return
  if (before?.length !== text.length) return await ensureFile(effect, name, path, text, owner)
  await effect(`${name}: change`)
  await writeFile(path, text, { flag: 'r+' })
}

/** Makes the file hold this value also after a loss of power. `check` comes last before that, and may throw. */
export async function replaceDurably(
  effect: Effect,
  name: string,
  path: string,
  value: unknown,
  check?: () => Promise<void>,
): Promise<void> {
  const aside = `${path}.new`
  await effect(`${name}: write aside`)
  await rm(aside, { force: true })
  await writeFile(aside, JSON.stringify(value), { mode: 0o600, flag: 'wx', flush: true })
  await effect(`${name}: rename into place`)
  await check?.()
  await rename(aside, path)
  await syncOne(dirname(path))
}

/** Makes the folder exist with this mode and owner; its parent must exist. */
export async function ensureFolder(effect: Effect, name: string, path: string, mode: number, owner?: Owner) {
  let stats = await statIfThere(path)
  if (!stats) {
    await effect(`${name}: make`)
    // Another server that starts at the same moment may be faster.
    await mkdir(path, { mode }).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error
    })
    stats = await stat(path)
  }
  if (owner && (stats.uid !== owner.uid || stats.gid !== owner.gid)) {
    await effect(`${name}: chown`)
    await chown(path, owner.uid, owner.gid)
  }
  if ((stats.mode & 0o777) !== mode) {
    await effect(`${name}: chmod`)
    await chmod(path, mode)
  }
}

/** Removes a file or a whole tree, when it is there. The folder around it is ours. */
export async function ensureRemoved(effect: Effect, name: string, path: string): Promise<void> {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (!stats) return
  await effect(`${name}: remove`)
  await removeTree(path)
}

/** The same for an entry of a folder of a service's user. */
export async function ensureEntryRemoved(effect: Effect, name: string, folder: string, path: string): Promise<void> {
  if (findEntry(folder, path) === undefined) return
  await effect(`${name}: remove`)
  await removeEntry(folder, path)
}
