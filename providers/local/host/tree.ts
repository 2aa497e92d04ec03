// Makes durable and hands over whole directory trees that no service's user can enter.
import { lchownSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { errorCode } from '../../host/read.ts'
import { syncFileSystem, syncOne } from '../../host/sync.ts'
import { entriesOf } from './entries.ts'
import { inLanes } from '../../host/together.ts'

/** Hands a whole tree to a user, every folder after its contents: until then no other user can enter it. */
export async function chownTree(path: string, owner: { uid: number; gid: number }): Promise<void> {
  const folders: string[] = []
  for await (const entry of entriesOf(path)) {
    const below = join(path, entry.name)
    if (entry.isDirectory()) folders.push(below)
    // Not by threads: each call would take ten times as long.
    else lchownSync(below, owner.uid, owner.gid)
  }
  for (const folder of folders) await chownTree(folder, owner)
  lchownSync(path, owner.uid, owner.gid)
  await nextTurn()
}

/** Makes a freshly written tree durable. What is left of that after an abort is not waited for. */
export async function syncTree(path: string, signal?: AbortSignal): Promise<void> {
  try {
    await syncFileSystem(path, signal)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    const entries = await readdir(path, { recursive: true, withFileTypes: true })
    const own = entries.filter((entry) => entry.isFile() || entry.isDirectory())
    await inLanes([path, ...own.map(({ parentPath, name }) => join(parentPath, name))], syncOne)
  }
}
