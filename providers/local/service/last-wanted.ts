// What was last wanted of each service and replica set of this host, whichever server was told. Written before anything is done for it, so a death can
// be handled by it while the metadata store is away, and nothing comes back that was to be stopped.
import { join } from 'node:path'
import type { WantedReplicaSet, WantedService } from '../../provider.ts'
import { ensureFile, ensureRemoved, type Effect } from '../host/effect.ts'
import { foldersOf } from '../host/layout.ts'
import { readIfThere } from '../../host/read.ts'

export type Wanted = WantedService | WantedReplicaSet

export const idOf = (wanted: Wanted): string => (isSet(wanted) ? wanted.replica_set_id : wanted.service_id)

export const isSet = (wanted: Wanted): wanted is WantedReplicaSet => 'replica_set_id' in wanted

const pathOf = (directory: string, id: string) => join(foldersOf(directory).wanted, `${id}.json`)

/** What is deleted needs no space, and nothing must bring it back. */
export async function ensureNoted(effect: Effect, directory: string, wanted: Wanted): Promise<void> {
  const path = pathOf(directory, idOf(wanted))
  if (wanted.deleted || (isSet(wanted) && wanted.service.deleted)) await ensureRemoved(effect, 'last wanted', path)
  else await ensureFile(effect, 'last wanted', path, JSON.stringify(wanted), undefined)
}

export async function findNoted(directory: string, id: string): Promise<Wanted | undefined> {
  const text = await readIfThere(pathOf(directory, id))
  return text === undefined ? undefined : (JSON.parse(text) as Wanted) // written above, in one piece
}
