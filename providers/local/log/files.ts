// The log files of one node: found by their names, which sort by age, and opened with care. The folder belongs to the
// service's own user, so a link or a file of another user in it is skipped: it could lead to another tenant's log.
// Listing and opening are synchronous: they take microseconds, and a thread takes longer.
import { fstatSync, read } from 'node:fs'
import { setImmediate as others } from 'node:timers/promises'
import { promisify } from 'node:util'
import { errorCode } from '../../host/read.ts'
import { namesIn } from '../host/entries.ts'
import { openFile, Planted } from '../host/tenant-files.ts'

/** More than retention leaves. A service's user may make millions, of which no page needs to know. */
export const log_names_max = 50_000
/** PostgreSQL begins a new file at 100 MB, and a line has one gigabyte at most. What is longer was made by another program, and may be holes. */
const file_bytes_max = 2 * 1024 ** 3
/** Opening so many takes a millisecond. */
const opened_per_turn = 40

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
export async function listLogFiles(folder: string): Promise<string[]> {
  try {
    return (await namesIn(folder, log_names_max)).filter(isLogFile).toSorted().toReversed()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  }
}

export type LogFile = { fd: number; size: number }

/** Undefined when there is no such file any more, or it is not the service's own. The caller closes it. */
export function openLogFile(folder: string, name: string): LogFile | undefined {
  try {
    const fd = openFile(folder, name)
    return fd === undefined ? undefined : { fd, size: Math.min(fstatSync(fd).size, file_bytes_max) }
  } catch (error) {
    if (error instanceof Planted) return undefined
    throw error
  }
}

/** The same names, with turns for other work in between. */
export async function* inTurns(names: readonly string[]): AsyncGenerator<string> {
  for (const [at, name] of names.entries()) {
    if (at % opened_per_turn === opened_per_turn - 1) await others()
    yield name
  }
}

/** Bulk reads go through threads. */
export const readAt = promisify(read)
