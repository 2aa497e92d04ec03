// How many databases run below a data directory right now, by looking at their processes and at nothing that was written
// down about them. Needs no server and no metadata store.
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { foldersOf, placeOf, portOf } from '#providers/local/layout.ts'
import { findPostmaster } from '#providers/local/server-process.ts'

export async function countDatabases(data_dir: string): Promise<number> {
  const directory = join(data_dir, 'local')
  const names = await readdir(foldersOf(directory).services).catch(() => [])
  const found = await Promise.all(names.map((service_id) => isRunning(directory, service_id)))
  return found.filter(Boolean).length
}

async function isRunning(directory: string, service_id: string): Promise<boolean> {
  const as_root = process.getuid?.() === 0
  const data = await stat(placeOf(directory, service_id, 0, as_root).data).catch(() => undefined)
  if (data === undefined) return false
  const { postmaster } = await findPostmaster(placeOf(directory, service_id, portOf(data), as_root))
  return postmaster !== undefined
}
