// Settles and hands over whole directory trees that no service's user can enter, without blocking the event loop for long.
import { execFile } from 'node:child_process'
import { lchownSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { errorCode } from './look.ts'
import { system_env } from './program.ts'
import { inLanes } from './together.ts'

/** Small things are done at once, without other threads: so long, until everybody else has a turn. */
const at_a_stretch_ms = 2

/** Hands a whole tree to a user, the root last: until then nobody else can enter it. */
export async function chownTree(path: string, owner: { uid: number; gid: number }): Promise<void> {
  const { directories, others } = await listTree(path)
  const breathe = newBreath()
  for (const one of [...others, ...directories.toReversed(), '']) {
    await breathe()
    lchownSync(join(path, one), owner.uid, owner.gid)
  }
}

/** Makes a freshly written tree durable: one flush of its file system, which beats an fsync of each of a thousand files. */
export async function syncTree(path: string): Promise<void> {
  try {
    await promisify(execFile)('sync', ['-f', path], { env: system_env })
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    const { directories, files } = await listTree(path)
    await inLanes([...files, ...directories, ''], (one) => syncOne(join(path, one)))
  }
}

/** A file; or of a folder which names it has, such as after a rename. */
export async function syncOne(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export type Breath = () => Promise<void> | undefined

/** What is to be awaited before each small thing of many; undefined: it may go on. */
export function newBreath(): Breath {
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

/** `others`: whatever is no directory, the files among them. Parents come before their children; what is gone has nothing. */
async function listTree(root: string): Promise<{ directories: string[]; others: string[]; files: string[] }> {
  let [directories, others, files]: [string[], string[], string[]] = [[], [], []]
  let level = ['']
  while (level.length > 0) {
    const listings = await Promise.all(
      level.map(async (path) => {
        const entries = await unlessMissing(readdir(join(root, path), { withFileTypes: true }))
        return (entries ?? []).map((entry) => ({ entry, path: join(path, entry.name) }))
      }),
    )
    const all = listings.flat()
    const pathsOf = (chosen: typeof all) => chosen.map(({ path }) => path)
    level = pathsOf(all.filter(({ entry }) => entry.isDirectory()))
    directories = directories.concat(level)
    others = others.concat(pathsOf(all.filter(({ entry }) => !entry.isDirectory())))
    files = files.concat(pathsOf(all.filter(({ entry }) => entry.isFile())))
  }
  return { directories, others, files }
}

async function unlessMissing<Value>(promise: Promise<Value>): Promise<Value | undefined> {
  try {
    return await promise
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
