// What a copy elsewhere gave back, laid ready for a service that does not exist yet: when the service is wanted, its data is made of it.
// The folder is put there whole, by one rename, and removed once the data is in place.
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { FetchedService, Laying } from '../../provider.ts'
import { statIfThere } from '../../host/read.ts'
import { nodeOf, type Node } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { syncOne } from '../../host/sync.ts'
import { syncTree } from '../host/tree.ts'

export type Fetched = FetchedService & { at?: string | undefined }

const facts_name = 'fetched.json'
/** By then the service is wanted, or the command that laid it ready was killed before. */
const left_ms = 24 * 3_600_000

export async function layReady(
  { effect, directory, as_root }: Machine,
  service_id: string,
  { fetch, isWanted }: Laying,
): Promise<void> {
  const { fetched: folder } = nodeOf(directory, service_id, 0, as_root)
  await removeLeft(dirname(folder), isWanted)
  const aside = `${folder}.new`
  const { snapshot_folder, wal_folder, ...facts } = await fetch(aside)
  const below = (path: string) => relative(aside, path)
  const places = { snapshot_folder: below(snapshot_folder), wal_folder: below(wal_folder) }
  await effect('fetched service: write facts')
  await writeFile(join(aside, facts_name), JSON.stringify({ ...facts, ...places }), { mode: 0o600 })
  await effect('fetched service: make durable')
  await syncTree(aside)
  await effect('fetched service: rename into place')
  await rename(aside, folder)
  // The service is wanted next: without the data laid ready an empty database would be made.
  await syncOne(dirname(folder))
}

async function removeLeft(services: string, isWanted: Laying['isWanted']): Promise<void> {
  for (const name of await readdir(services)) {
    const [, service_id] = /^(\w+)\.fetched(\.new)?$/.exec(name) ?? []
    const stats = service_id !== undefined && (await statIfThere(join(services, name)))
    if (!stats || Date.now() - stats.mtimeMs < left_ms || (await isWanted(service_id))) continue
    await rm(join(services, name), { recursive: true, force: true })
  }
}

export async function findFetched({ fetched: folder }: Node): Promise<Fetched | undefined> {
  if (!(await statIfThere(folder))) return undefined
  const text = await readFile(join(folder, facts_name), 'utf8')
  const { snapshot_folder, wal_folder, ...facts } = JSON.parse(text) as Fetched // written above, in one piece
  return { ...facts, snapshot_folder: join(folder, snapshot_folder), wal_folder: join(folder, wal_folder) }
}
