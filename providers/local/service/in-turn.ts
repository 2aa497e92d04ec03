// The two ways in which a service or a replica set is passed over: as it is wanted now, and, after a death, as it was last wanted here.
// Both one at a time, among all processes of this host.
import type { ObservedReplicaSet, ObservedService, WantedReplicaSet, WantedService } from '../../provider.ts'
import { findService } from '../postgres/nodes.ts'
import { foldersOf, noSpaceSentence } from '../host/layout.ts'
import type { ServiceHost } from './service-host.ts'
import { effectInTurn } from '../host/effect.ts'
import { isDiskFull } from '../../host/read.ts'
import { applyReplicaSet } from '../replica-set/replica-set.ts'
import { inTurn } from '../../host/turn.ts'
import {
  ensureLastWanted,
  findLastWanted,
  findLastWantedService,
  idOf,
  isReplicaSet,
  type Wanted,
} from './last-wanted.ts'
import { setback } from '../../setback.ts'
import { applyService } from './service.ts'

export const applyInTurn = (host: ServiceHost, wanted: WantedService): Promise<ObservedService> =>
  notedInTurn(host, wanted, (own) => applyService(own, wanted)).catch(async (error: unknown) => ({
    ...(await noSpaceFor(host, wanted, error)),
    snapshots: [],
  }))

export const applySetInTurn = (host: ServiceHost, wanted: WantedReplicaSet): Promise<ObservedReplicaSet> =>
  notedInTurn(host, wanted, (own) => applyReplicaSet(own, wanted)).catch(async (error: unknown) => ({
    ...(await noSpaceFor(host, wanted, error)),
    failed: true,
  }))

async function notedInTurn<T>(host: ServiceHost, wanted: Wanted, work: (host: ServiceHost) => Promise<T>): Promise<T> {
  return await hostInTurn(host, idOf(wanted), async (own) => {
    await ensureLastWanted(own.effect, own.directory, wanted)
    return await work(own)
  })
}

async function hostInTurn<T>(host: ServiceHost, id: string, work: (host: ServiceHost) => Promise<T>): Promise<T> {
  const { effect, directory } = host
  return await inTurn(foldersOf(directory).turns, id, (requireTurn) =>
    work({ ...host, effect: effectInTurn(effect, requireTurn) }),
  )
}

async function noSpaceFor({ directory, as_root }: ServiceHost, wanted: Wanted, error: unknown) {
  if (!isDiskFull(error)) throw error
  const state = (await findService(directory, idOf(wanted), as_root)) ? 'unknown' : 'absent'
  return setback(state, noSpaceSentence(directory))
}

/** Undefined when it is not wanted here, or none of its data exists: then it is not made. */
export async function healInTurn(any: ServiceHost, id: string) {
  return await hostInTurn(any, id, async (host) => {
    const { directory, as_root } = host
    const wanted = await findLastWanted(directory, id)
    if (!wanted || !(await findService(directory, id, as_root))) return undefined
    if (!isReplicaSet(wanted)) return await applyService(host, wanted)
    // Its service may have been stopped since.
    const service = await findLastWantedService(directory, wanted.service.service_id)
    return service && (await applyReplicaSet(host, { ...wanted, service }))
  })
}
