// What was last wanted of each service of this host, whichever server was told. Written before anything is done for it, so a death can
// be handled by it while the metadata store is away, and nothing comes back that was to be stopped.
import { join } from 'node:path'
import type { WantedService } from '../../provider.ts'
import { ensureFile, ensureRemoved, type Effect } from '../effect.ts'
import { foldersOf } from '../layout.ts'
import { readIfThere } from '../look.ts'

const pathOf = (directory: string, service_id: string) => join(foldersOf(directory).wanted, `${service_id}.json`)

export async function ensureNoted(effect: Effect, directory: string, wanted: WantedService): Promise<void> {
  await ensureFile(effect, 'last wanted', pathOf(directory, wanted.service_id), JSON.stringify(wanted), undefined)
}

export async function ensureNotNoted(effect: Effect, directory: string, service_id: string): Promise<void> {
  await ensureRemoved(effect, 'last wanted', pathOf(directory, service_id))
}

export async function findNoted(directory: string, service_id: string): Promise<WantedService | undefined> {
  const text = await readIfThere(pathOf(directory, service_id))
  return text === undefined ? undefined : (JSON.parse(text) as WantedService) // written above, in one piece
}
