// The WAL of a server that may be running, copied file by file: from its WAL folder, and from its archive what is no longer
// there. PostgreSQL reuses a file only when it has archived it, so one of the two always has it.
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, statIfThere } from '../look.ts'
import type { Place } from '../layout.ts'
import { copyLiveFile, type Cloning } from '../snapshot/live-file.ts'
import { findPath, type Path } from './timeline.ts'
import { listSegments, type Segment } from './wal.ts'

/** Both without links on the way; `path`: which of what lies there counts. */
export type Wal = { pg_wal: string; archive: string; path: Path }

export async function findWal(place: Place): Promise<Wal> {
  const [data, archive] = await Promise.all([realpath(place.data), realpath(place.archive)])
  const pg_wal = join(data, 'pg_wal')
  return { pg_wal, archive, path: await findPath(place.data, [pg_wal, archive]) }
}

/** From the first place on, to the last when it is given; oldest first, of every timeline. */
export async function listWal({ pg_wal, archive }: Wal, first: string, last: string | undefined): Promise<Segment[]> {
  // In this order: what has left the WAL folder before it is listed has been archived before the archive is listed.
  const recent = await listSegments(pg_wal, first, last)
  const known = new Set(recent.map(({ name }) => name))
  const archived = await listSegments(archive, first, last)
  return [...recent, ...archived.filter(({ name }) => !known.has(name))].toSorted((a, b) => a.number - b.number)
}

/** The archive's stays as it is; the other may be reused under our hands, but then it has been archived meanwhile. */
export async function copySegment({ pg_wal, archive }: Wal, name: string, target: string, cloning: Cloning) {
  const archived = join(archive, name)
  if (!(await statIfThere(archived))) {
    const copied = await isCopied(join(pg_wal, name), target, cloning)
    if (!(await statIfThere(archived))) {
      if (!copied) throw new Error(`the WAL file ${name} vanished while it was copied`)
      return
    }
  }
  await copyLiveFile(archived, target, cloning)
}

/** False when the file is not there any more. */
async function isCopied(path: string, target: string, cloning: Cloning): Promise<boolean> {
  try {
    await copyLiveFile(path, target, cloning)
    return true
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    return false
  }
}
