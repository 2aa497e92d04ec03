// The log files of one node: found by their names, which sort by age, and opened with care. The folder belongs to the
// service's own user, so a link or a file of somebody else in it is not followed: it could lead to another tenant's log.
// Looking things up is done synchronously: it takes microseconds, and a detour through a thread takes longer.
import { closeSync, fstatSync, openSync, read, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errorCode, read_safely } from '../look.ts'

/** As `log_filename` of the settings makes them. */
const name_form = /^postgresql-(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)\.json$/

export function isLogFile(name: string): boolean {
  return name_form.test(name)
}

/** When the file was begun, to the second. */
export function beginOf(name: string): number {
  const [, year, month, day, hour, minute, second] = (name_form.exec(name) ?? []).map(Number)
  return Date.UTC(year ?? 0, (month ?? 0) - 1, day, hour, minute, second)
}

/** Newest first. */
export function listLogFiles(folder: string): string[] {
  try {
    return readdirSync(folder).filter(isLogFile).toSorted().toReversed()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  }
}

export type LogFile = { fd: number; size: number }

/** Undefined when there is no such file any more, or it is not the service's own. The caller closes it. */
export function openLogFile(folder: string, name: string, uid: number | undefined): LogFile | undefined {
  const fd = openIfThere(join(folder, name))
  if (fd === undefined) return undefined
  const seen = fstatSync(fd)
  if (seen.isFile() && (uid === undefined || seen.uid === uid)) return { fd, size: seen.size }
  closeSync(fd)
  return undefined
}

/** What is read in bulk is read by other threads. */
export const readAt = promisify(read)

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, read_safely)
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ELOOP') return undefined
    throw error
  }
}
