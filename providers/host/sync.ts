// Flushes files to their disk: one, or all of a file system.
import { execFile } from 'node:child_process'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { system_env } from './program.ts'

/**
 * Every file of the file system of this path: cheaper than an fsync of each of a thousand files. An abort ends the wait for it; the
 * kernel goes on writing.
 */
export async function syncFileSystem(path: string, signal?: AbortSignal): Promise<void> {
  await promisify(execFile)('sync', ['-f', path], { env: system_env, ...(signal && { signal }) })
}

/** Flushes a file; or a folder's names, such as after a rename. */
export async function syncOne(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
