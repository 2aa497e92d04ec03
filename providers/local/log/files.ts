// The log files of one node: found by their names, which sort by age, and opened with care. The folder belongs to the
// service's own user, so a link or a file of somebody else in it is not followed: it could lead to another tenant's log.
import { constants } from 'node:fs'
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../effect.ts'

/** As `log_filename` of the settings makes them. */
const name_form = /^postgresql-\d{8}-\d{6}\.json$/

export function isLogFile(name: string): boolean {
  return name_form.test(name)
}

/** Newest first. */
export async function listLogFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  })
  return names.filter(isLogFile).toSorted().toReversed()
}

export type LogFile = { handle: FileHandle; size: number }

/** Undefined when there is no such file any more, or it is not the service's own. The caller closes the handle. */
export async function openLogFile(folder: string, name: string, uid: number | undefined): Promise<LogFile | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const handle = await open(join(folder, name), flags).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ELOOP') return undefined
    throw error
  })
  if (handle === undefined) return undefined
  const seen = await handle.stat()
  if (seen.isFile() && (uid === undefined || seen.uid === uid)) return { handle, size: seen.size }
  await handle.close()
  return undefined
}
