// The archived WAL of a service in our folder: links, which cost no space, or copies where its user has written to linked files.
import { closeSync, fstatSync, lchownSync } from 'node:fs'
import { link, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../../host/read.ts'
import { copyFileIn } from '../host/copy-tree.ts'
import { entriesOf } from '../host/entries.ts'
import { pathOf } from '../host/handle.ts'
import type { Node } from '../host/layout.ts'
import { listStats, openFolder, Planted } from '../host/tenant-files.ts'
import { isWal, wal_file_bytes_max } from '../wal/wal.ts'

/** Of whole files in a round, which other services wait for. */
const copies_max = 100

/** Links in our folder to all whole files of the archive, or copies of them, and nothing else. */
export async function stageArchived(node: Node, to: string, copied: Set<string> | undefined): Promise<void> {
  const { archive } = node
  const handle = openFolder(archive)
  let planted: Planted | undefined
  let copies = 0
  try {
    const { uid } = fstatSync(handle)
    const [wanted, there] = [await namesAt(pathOf(handle)), await namesAt(to)]
    for (const name of there) {
      if (wanted.has(name) && copied?.has(name) !== false) continue
      await rm(join(to, name), { force: true })
      there.delete(name)
    }
    // The link is to the entry itself, whatever it is; what it is does not change any more under a name of ours, but how much.
    for (const name of wanted) {
      if (there.has(name)) continue
      if (copied && ++copies > copies_max) break
      const made = copied ? copyWhole(node, name, join(to, name)) : link(`${pathOf(handle)}/${name}`, join(to, name))
      await made.catch((error: unknown) => {
        if (error instanceof Planted) planted ??= error
        else ignoreOther(error)
      })
      copied?.add(name)
    }
    for await (const [name, stats] of listStats(to)) {
      const is_own = stats.isFile() && stats.uid === uid
      if (is_own && stats.size <= wal_file_bytes_max) continue
      await rm(join(to, name), { force: true })
      planted ??= new Planted(archive, name, is_own ? 'larger than a WAL file' : 'no file of its own user')
    }
  } finally {
    closeSync(handle)
  }
  // It keeps no other file from being copied.
  if (planted) throw planted
  if (copies > copies_max) throw new Error('its archived WAL is being copied, because files of it have grown')
}

async function copyWhole(node: Node, name: string, to: string): Promise<void> {
  const aside = join(node.backup, `${process.pid}.new`)
  const options = { sharing: { possible: true }, keep_reserve: true, bytes_max: wal_file_bytes_max }
  await copyFileIn(node.archive, name, aside, options)
  // As the files that are linked are its user's, who cannot enter this folder.
  if (node.owner) lchownSync(aside, node.owner.uid, node.owner.gid)
  await rename(aside, to)
}

/** Another process has made the same link, or the archive has been pruned since it was listed. */
function ignoreOther(error: unknown): void {
  if (!['EEXIST', 'ENOENT'].includes(errorCode(error) ?? '')) throw error
}

/** Of the WAL in a folder. */
export async function namesAt(folder: string): Promise<Set<string>> {
  const names = new Set<string>()
  for await (const { name } of entriesOf(folder)) if (isWal(name)) names.add(name)
  return names
}
