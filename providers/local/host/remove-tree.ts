// Removes trees of any depth and size, also such as a service's user has made and goes on to add to. No link is followed: what lies below a
// folder is reached by its handle.
import { randomBytes } from 'node:crypto'
import { closeSync, lstatSync, openSync } from 'node:fs'
import { rename, rmdir, unlink } from 'node:fs/promises'
import { undefinedIfAbsent } from '../../host/read.ts'
import { inLanes } from '../../host/together.ts'
import { entriesOf } from './entries.ts'
import { as_folder, pathOf } from './handle.ts'

/** A removal that is not finished by then competes with a process that goes on adding; the next pass goes on. */
const removal_rounds_max = 1_000

/** A file, a link or a whole tree, at a path that leads through no folder of a service's user, or begins at an open one. */
export async function removeTree(entry: string): Promise<void> {
  const stats = lstatSync(entry, { throwIfNoEntry: false })
  if (!stats?.isDirectory()) return await unlink(entry).catch(undefinedIfAbsent)
  const top = openIfThere(entry)
  if (top === undefined) return
  try {
    let rounds = 0
    while (rounds < removal_rounds_max && (await removeRound(top))) rounds += 1
  } finally {
    closeSync(top)
  }
  await rmdir(entry).catch(undefinedIfAbsent)
}

/**
 * Removes the files of the folder and of its folders; their folders move up one level. So a tree of any depth is removed with two
 * handles at a time. False when nothing is left.
 */
async function removeRound(top: number): Promise<boolean> {
  const folders = await removeFiles(top)
  for (const name of folders) {
    const entry = `${pathOf(top)}/${name}`
    const folder = openIfThere(entry)
    if (folder === undefined) continue
    try {
      for (const below of await removeFiles(folder)) {
        const above = `${pathOf(top)}/${randomBytes(8).toString('hex')}`
        await rename(`${pathOf(folder)}/${below}`, above).catch(undefinedIfAbsent)
      }
    } finally {
      closeSync(folder)
    }
    await rmdir(entry).catch(undefinedIfAbsent)
  }
  return folders.length > 0
}

/** Undefined where another pass or another server has removed it meanwhile. */
function openIfThere(entry: string): number | undefined {
  try {
    return openSync(entry, as_folder)
  } catch (error) {
    return undefinedIfAbsent(error)
  }
}

/** Returns the names of the folders, which stay. */
async function removeFiles(folder: number): Promise<string[]> {
  const [folders, others]: [string[], string[]] = [[], []]
  for await (const entry of entriesOf(pathOf(folder))) (entry.isDirectory() ? folders : others).push(entry.name)
  await inLanes(others, (name) => unlink(`${pathOf(folder)}/${name}`).catch(undefinedIfAbsent))
  return folders
}
