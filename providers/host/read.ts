// Reads of the disk that never change it, and the names of the system's errors.
// A pass over a service reads dozens of small files that lie in memory: microseconds each, where a thread of the pool
// takes a hundred. So they are read synchronously. Every change goes through threads
// (effect.ts), because a busy disk may block it.
import { closeSync, constants, openSync, readFileSync, readSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** For entries in folders of a service's user: a link is not followed, and opening a pipe does not block. */
const read_safely = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
export const text_bytes_max = 1024 ** 2
const scratch = Buffer.allocUnsafeSlow(16_384)

export async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    return undefinedIfAbsent(error)
  }
}

/** The nearest folder above that lets no other user pass through to what lies below it; undefined: all do. */
export function findClosedAbove(path: string): string | undefined {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return folder
    if (folder === dirname(folder)) return undefined
  }
}

/** The text of a small file. Some lie in folders of a service's user: a link, a pipe or a huge file must do no harm. */
export async function readIfThere(path: string): Promise<string | undefined> {
  let file: number | undefined
  try {
    file = openSync(path, read_safely)
    return readFrom(file, text_bytes_max).toString()
  } catch (error) {
    return undefinedIfAbsent(error)
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/** The next bytes of an open file: so many, or as many as it has. */
export function readFrom(file: number, bytes_max: number): Buffer {
  const chunks: Buffer[] = []
  for (let size = 0; size < bytes_max;) {
    const bytes = readSync(file, scratch, 0, Math.min(scratch.length, bytes_max - size), null)
    if (bytes === 0) break
    chunks.push(Buffer.from(scratch.subarray(0, bytes)))
    size += bytes
  }
  return Buffer.concat(chunks)
}

/** The text of a small file; empty when it cannot be read: processes and their groups end while they are being read. */
export function textOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

export function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** The disk's code for it, the quota's, and PostgreSQL's. */
export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', '53100'].includes(errorCode(error) ?? '')
}

/** The process or the host has no file handle left, or no memory: the entry may be there all the same. */
export const isExhausted = (error: unknown) => ['EMFILE', 'ENFILE', 'ENOMEM'].includes(errorCode(error) ?? '')

/** For a caught error: undefined when the entry does not exist; any other error is thrown. */
export function undefinedIfAbsent(error: unknown): undefined {
  const code = errorCode(error)
  // ESRCH: the process exited while /proc was being read.
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ESRCH') return undefined
  throw error
}
