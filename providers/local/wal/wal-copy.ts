// The WAL of a server that may be running, copied file by file: from its WAL folder, and the rest from its archive.
// PostgreSQL reuses a file only when it has archived it, so one of the two always has it.
import { errorCode } from '../../host/read.ts'
import type { Node } from '../host/layout.ts'
import { copyFileIn, type Sharing } from '../host/copy-tree.ts'
import { findEntry } from '../host/tenant-files.ts'
import { findPath, type Path } from './timeline.ts'
import { archiveAt, listSegments, pathIn, pgWalOf, type Segment, type WalFolder, wal_file_bytes_max } from './wal.ts'

/** `path`: which of the files count. */
export type Wal = { pg_wal: WalFolder; archive: WalFolder; path: Path }

export async function findWal({ data, archive }: Node): Promise<Wal> {
  const folders = { pg_wal: pgWalOf(data), archive: archiveAt(archive) }
  return { ...folders, path: await findPath(data, Object.values(folders)) }
}

/** From the first position on, to the last when it is given; oldest first, of every timeline. */
export async function listWal({ pg_wal, archive }: Wal, first: string, last: string | undefined): Promise<Segment[]> {
  // In this order: a file that has left the WAL folder before it is listed is archived before the archive is listed.
  const recent = await listSegments(pg_wal, first, last)
  const known = new Set(recent.map(({ name }) => name))
  const archived = await listSegments(archive, first, last)
  return [...recent, ...archived.filter(({ name }) => !known.has(name))].toSorted((a, b) => a.number - b.number)
}

type FileOptions = { sharing: Sharing; keep_reserve: true; signal: AbortSignal }

/** The archive's file stays; the other may be reused during the copy, but then it is archived. */
export async function copySegment({ pg_wal, archive }: Wal, name: string, target: string, options: FileOptions) {
  const isArchived = () => findEntry(archive.folder, pathIn(archive, name)) !== undefined
  if (!isArchived()) {
    const copied = await isCopied(pg_wal, name, target, options)
    if (!isArchived()) {
      if (!copied) throw new Error(`the WAL file ${name} vanished while it was copied`)
      return
    }
  }
  await copyWalFile(archive, name, target, options)
}

/** ENOENT is thrown when it is removed. */
export async function copyWalFile(from: WalFolder, name: string, target: string, options: FileOptions): Promise<void> {
  await copyFileIn(from.folder, pathIn(from, name), target, { ...options, bytes_max: wal_file_bytes_max })
}

/** False when the file has been removed. */
async function isCopied(from: WalFolder, name: string, target: string, options: FileOptions): Promise<boolean> {
  try {
    await copyWalFile(from, name, target, options)
    return true
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    return false
  }
}
