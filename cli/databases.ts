// Which databases run below a data directory right now, by their processes and by no record
// of them. Needs no server and no metadata store.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { foldersOf } from '#providers/local/host/layout.ts'
import { findService, listNodes } from '#providers/local/postgres/nodes.ts'
import { findPostmaster } from '#providers/local/postgres/process.ts'
import { mayGiveUsers } from '#providers/host/privilege.ts'

export async function countDatabases(data_dir: string): Promise<number> {
  const directory = join(data_dir, 'local')
  const names = await readdir(foldersOf(directory).services).catch(() => [])
  const found = await Promise.all(names.map((service_id) => isRunning(directory, service_id)))
  return found.filter(Boolean).length
}

/** The process of its primary; undefined while there is none. */
export async function findPrimaryProcess(data_dir: string, service_id: string): Promise<number | undefined> {
  const primary = await findService(join(data_dir, 'local'), service_id, mayGiveUsers())
  return primary && (await findPostmaster(primary)).postmaster?.pid
}

/** A service whose primary was killed and whose replica runs is running too. */
async function isRunning(directory: string, service_id: string): Promise<boolean> {
  const primary = await findService(directory, service_id, mayGiveUsers())
  if (primary === undefined) return false
  const found = await Promise.all((await listNodes(primary)).map(findPostmaster))
  return found.some(({ postmaster }) => postmaster !== undefined)
}
