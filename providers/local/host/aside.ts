// What is made aside, under a name that carries its maker, and renamed into place whole: two makers at once, or a killed one, leave
// exactly one of it and, after the next pass, nothing else.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { identityOf } from '../../host/process.ts'
import { errorCode } from '../../host/read.ts'
import { ensureRemoved, type Effect } from './effect.ts'
import { removeTree } from './remove-tree.ts'

/** Makes a folder that is not there. `make` gets the path aside, and makes durable what has to be. */
export async function makeWhole(
  effect: Effect,
  name: string,
  path: string,
  make: (aside: string) => Promise<void>,
): Promise<void> {
  const aside = newAside(path)
  try {
    await make(aside)
    await effect(`${name}: rename into place`)
    await rename(aside, path)
  } catch (error) {
    await ensureRemoved(effect, `unfinished ${name}`, aside)
    // Another server was faster: it is there, and whole.
    if (errorCode(error) !== 'ENOTEMPTY' && errorCode(error) !== 'EEXIST') throw error
  }
}

/** The same for what an installation makes once, before any pass. */
export async function makeOnce(path: string, make: (aside: string) => Promise<void>): Promise<void> {
  const aside = `${path}.new-${randomBytes(6).toString('hex')}`
  try {
    await make(aside)
    // Fails if another process was faster, for then the folder is not empty.
    await rename(aside, path)
  } catch (error) {
    // The process that was faster may be removing it, too.
    await removeTree(aside).catch(() => undefined)
    if (!existsSync(path)) throw error
  }
}

/** What killed processes left of it. A process that is still making one removes its own, and finds the finished one instead. */
export async function removeHalves(path: string): Promise<void> {
  for (const name of await readdir(dirname(path))) {
    if (name.startsWith(`${basename(path)}.new-`)) await removeTree(join(dirname(path), name)).catch(() => undefined)
  }
}

/** Where this process makes what it will rename to the path. */
export function newAside(path: string): string {
  return `${path}.making-${identityOf(process.pid).replace('/', '-')}-${randomBytes(4).toString('hex')}`
}

/** What dead processes have begun to make or to remove in this folder. */
export async function removeUnfinished(effect: Effect, folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid, start] = /\.making-(\d+)-(\d+)-\w+$/.exec(name) ?? []
    if (pid === undefined || identityOf(Number(pid)) === `${pid}/${start}`) continue
    await ensureRemoved(effect, 'unfinished template', join(folder, name))
  }
}
