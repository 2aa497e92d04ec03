// The last wanted state of each service and replica set of this host, whichever server received it. Written before any step towards it,
// so that a death can be healed by it while the metadata store is unreachable, and no service starts that was to be stopped.
import { join } from 'node:path'
import type { Endpoint, ServiceSource, WantedReplicaSet, WantedService } from '../../provider.ts'
import { ensureFile, ensureRemoved, type Effect } from '../host/effect.ts'
import { foldersOf } from '../host/layout.ts'
import { readIfThere } from '../../host/read.ts'

export type Wanted = WantedService | WantedReplicaSet

export const idOf = (wanted: Wanted): string => (isReplicaSet(wanted) ? wanted.replica_set_id : wanted.service_id)

export const isReplicaSet = (wanted: Wanted): wanted is WantedReplicaSet => 'replica_set_id' in wanted

const pathOf = (directory: string, id: string) => join(foldersOf(directory).wanted, `${id}.json`)

/** A deleted service needs no space for a note, and no death may bring it back. */
export async function ensureLastWanted(effect: Effect, directory: string, wanted: Wanted): Promise<void> {
  const path = pathOf(directory, idOf(wanted))
  if (wanted.deleted || (isReplicaSet(wanted) && wanted.service.deleted)) {
    // A server that was killed may have left a half of it, with the verifier of the password.
    for (const one of [`${path}.new`, path]) await ensureRemoved(effect, 'last wanted', one)
  } else await ensureFile(effect, 'last wanted', path, JSON.stringify(wanted), undefined)
}

export async function findLastWanted(directory: string, id: string): Promise<Wanted | undefined> {
  const text = await readIfThere(pathOf(directory, id))
  // Empty: the machine crashed before the text was on the disk. The next pass writes it anew.
  if (text === undefined || text === '') return undefined
  const written = JSON.parse(text) as Wanted | Former // written above, in one piece
  return 'endpoint' in written ? currentOf(written) : written
}

export async function findLastWantedService(directory: string, id: string): Promise<WantedService | undefined> {
  const noted = await findLastWanted(directory, id)
  return noted && !isReplicaSet(noted) ? noted : undefined
}

/** As versions before this one wrote it. */
type Former = Omit<Wanted, 'home' | 'reach' | 'vpc_id'> & {
  endpoint: Endpoint
  network?: { vpc_id: string; address: string; pooler_address?: string }
  source?: ServiceSource | { service_id: string; snapshot_id: string; target_time?: string; private?: boolean }
}

function currentOf({ endpoint: home, network, pooler, source, ...rest }: Former): Wanted {
  const inVpc = (host: string | undefined, outside: Endpoint) => (host === undefined ? outside : { host, port: 5432 })
  const current = {
    ...rest,
    home,
    reach: inVpc(network?.address, home),
    ...(pooler && { pooler: inVpc(network?.pooler_address, pooler) }),
    ...(network && { vpc_id: network.vpc_id }),
    ...(source && { source: sourceOf(source) }),
  }
  return current as Wanted // one of the two kinds, as it was written
}

function sourceOf(written: NonNullable<Former['source']>): ServiceSource {
  if ('moment' in written) return written
  const { service_id, snapshot_id, target_time } = written
  return { service_id, moment: written.private ? 'now' : target_time ? { at: target_time } : { snapshot_id } }
}
