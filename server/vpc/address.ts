// Addresses of a VPC, held by what listens there: a service, its pooler, its replica sets and their poolers. One is taken in
// the transaction that wants something to be there, and given back in the one that has seen it outside.
import { Fault } from '#contract/fault.ts'
import type { Sql } from '../store/db.ts'
import type { ServiceRow } from '../service/store.ts'
import { nudge } from '../work.ts'
import { freeAddress, poolerOf } from './rules.ts'
import { insertAddress, listAddresses, lockVpcs, removeAddresses, type VpcRow } from './store.ts'

/** Everything of a service that listens somewhere. */
export function holdersOf({ pooler, replica_sets }: ServiceRow): string[] {
  const listening = [
    { holder: 'service', pooler },
    ...replica_sets.map((set) => ({ ...set, holder: set.replica_set_id })),
  ]
  return listening.flatMap((one) => [one.holder, ...(one.pooler ? [poolerOf(one.holder)] : [])])
}

/** The address that the holder has, or the lowest that is free. The VPC is locked. */
export async function ensureAddress(tx: Sql, vpc: VpcRow, service: ServiceRow, holder: string): Promise<string> {
  const held = service.vpc_addresses?.[holder]
  if (held !== undefined) return held
  const address = freeAddress(vpc.cidr, await listAddresses(tx, vpc.id))
  if (address === undefined) {
    throw new Fault(
      'CONFLICT',
      `VPC ${vpc.id} (${vpc.cidr}) has no free address; detach something, or use a larger one`,
    )
  }
  await insertAddress(tx, { vpc_id: vpc.id, address, service_id: service.service_id, holder })
  return address
}

/** For something new of a service: where the service is in a VPC, that is too. The row as it is then. */
export async function withAddress(tx: Sql, service: ServiceRow, holder: string): Promise<ServiceRow> {
  const [vpc] = service.vpc_id === null ? [] : await lockVpcs(tx, [service.vpc_id])
  if (vpc === undefined) return service
  const address = await ensureAddress(tx, vpc, service, holder)
  return { ...service, vpc_addresses: { ...service.vpc_addresses, [holder]: address } }
}

/** It and its pooler were seen to be in no VPC any more: whoever waits for the addresses, or to remove the VPC, can go on. */
export async function releaseAddresses(tx: Sql, service_id: string, holder: string): Promise<void> {
  const left = await removeAddresses(tx, service_id, [holder, poolerOf(holder)])
  for (const vpc_id of left) await nudge(tx, 'vpc', String(vpc_id))
}
