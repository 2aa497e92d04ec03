// The two ways in which a service is worked on: as it is wanted now, and, after a death, as it was last wanted here. Both one at a time,
// among all processes of this host.
import type { ObservedService, WantedService } from '../../provider.ts'
import { findService } from '../ha/nodes.ts'
import { foldersOf, noSpaceSentence } from '../layout.ts'
import type { LocalHost } from '../local-host.ts'
import { isDiskFull } from '../look.ts'
import { inTurn } from '../turn.ts'
import { ensureNoted, ensureNotNoted, findNoted } from './last-wanted.ts'
import { setback } from './seen.ts'
import { applyService } from './service.ts'

export async function applyInTurn(host: LocalHost, wanted: WantedService): Promise<ObservedService> {
  const { effect, directory, as_root } = host
  const work = async () => {
    // A delete needs no space, and nothing must bring it back.
    if (wanted.deleted) await ensureNotNoted(effect, directory, wanted.service_id)
    else await ensureNoted(effect, directory, wanted)
    return await applyService(host, wanted)
  }
  return await inTurn(foldersOf(directory).turns, wanted.service_id, work).catch(async (error: unknown) => {
    if (!isDiskFull(error)) throw error
    const state = (await findService(directory, wanted.service_id, as_root)) ? 'unknown' : 'absent'
    return { ...setback(state, noSpaceSentence(directory)), snapshots: [] }
  })
}

/** Undefined when nothing is wanted of it here, or nothing of it is there: then it is not made. */
export async function healInTurn(host: LocalHost, service_id: string): Promise<ObservedService | undefined> {
  const { directory, as_root } = host
  return await inTurn(foldersOf(directory).turns, service_id, async () => {
    const wanted = await findNoted(directory, service_id)
    if (!wanted || !(await findService(directory, service_id, as_root))) return undefined
    return await applyService(host, wanted)
  })
}
