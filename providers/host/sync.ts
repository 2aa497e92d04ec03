// Flushes the file system of a path to its disk.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { system_env } from './program.ts'

/**
 * Every file of the file system of this path: cheaper than an fsync of each of a thousand files. An abort ends the wait for it; the
 * kernel goes on writing.
 */
export async function syncFileSystem(path: string, signal?: AbortSignal): Promise<void> {
  await promisify(execFile)('sync', ['-f', path], { env: system_env, ...(signal && { signal }) })
}
