// Which services are in which VPC. Attaching and detaching assign services.vpc_id, like a resize assigns a size. An address
// is taken in the transaction that attaches, and given back in the one that has seen the service outside.
import { api } from '#contract/api.ts'
import { Fault, notFound, unknown_vpc } from '#contract/fault.ts'
import { invalidRequest } from '#contract/problem.ts'
import type { Sql } from '../db.ts'
import type { Handlers } from '../handler.ts'
import { number_form } from '../path-id.ts'
import { type At, getService, lockService } from '../service/change.ts'
import type { ServiceContext } from '../service/context.ts'
import { insertEvent } from '../service/events.ts'
import { movedTo, requireStatus } from '../service/rules.ts'
import { saveWanted, type ServiceRow } from '../service/store.ts'
import { nudge } from '../work.ts'
import { freeAddress } from './rules.ts'
import { insertAddress, listAddresses, lockVpcs, removeAddresses, type VpcRow } from './store.ts'

export function attachmentHandlers(context: ServiceContext): Pick<Handlers, 'attachToVpc' | 'detachFromVpc'> {
  const { db, providers } = context
  return {
    attachToVpc: async ({ params, body: { vpc_id } }) => {
      const service = await getService(db, params)
      requireStatus(service, api.attachToVpc.accepts, new Date())
      const refusal = await providers.get(service.region_code)?.networkRefusal()
      if (refusal !== undefined) throw invalidRequest([refusal])
      const address = await db.transaction((tx) => attach(tx, params, vpc_id))
      return { message: `the service moves to ${address}:5432 in VPC ${vpc_id}` }
    },

    detachFromVpc: async ({ params, body: { vpc_id } }) => {
      const left = await db.transaction((tx) => detach(tx, params, vpc_id))
      return { message: `the service leaves VPC ${left}` }
    },
  }
}

/** An address in the VPC for something of a service; the one it has, or the lowest that is free. The VPC is locked. */
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

/** The service has been seen to be in no VPC any more: whoever waits for the addresses, or to remove the VPC, can go on. */
export async function releaseAddresses(tx: Sql, service_id: string): Promise<void> {
  for (const vpc_id of await removeAddresses(tx, service_id)) await nudge(tx, 'vpc', String(vpc_id))
}

async function attach(tx: Sql, at: At, vpc_id: string): Promise<string> {
  const service = await lockService(tx, at, api.attachToVpc.accepts)
  const [vpc] = number_form.test(vpc_id) ? await lockVpcs(tx, [Number(vpc_id)]) : []
  if (vpc?.project_id !== at.project_id) throw notFound(unknown_vpc)
  if (service.vpc_id !== null) {
    throw new Fault('CONFLICT', `the service is attached to VPC ${service.vpc_id} already; detach it first`)
  }
  if (vpc.region_code !== service.region_code) {
    const regions = `VPC ${vpc.id} is in region ${vpc.region_code}, the service in ${service.region_code}`
    throw invalidRequest([`/vpc_id: ${regions}; use a VPC of the service’s region`])
  }
  const address = await ensureAddress(tx, vpc, service, 'service')
  await saveWanted(tx, service.service_id, movedTo(service, vpc.id))
  await insertEvent(tx, service.service_id, 'requested', `attachment to VPC ${vpc.id} at ${address} requested`)
  await nudge(tx, 'service', service.service_id)
  await nudge(tx, 'vpc', String(vpc.id))
  return address
}

async function detach(tx: Sql, at: At, vpc_id: string | undefined): Promise<number> {
  const service = await lockService(tx, at, api.detachFromVpc.accepts)
  if (service.vpc_id === null) throw new Fault('CONFLICT', 'the service is attached to no VPC')
  if (vpc_id !== undefined && vpc_id !== String(service.vpc_id)) {
    throw invalidRequest([`/vpc_id: the service is attached to VPC ${service.vpc_id}; name that one, or none`])
  }
  await saveWanted(tx, service.service_id, movedTo(service, null))
  await insertEvent(tx, service.service_id, 'requested', `detachment from VPC ${service.vpc_id} requested`)
  await nudge(tx, 'service', service.service_id)
  return service.vpc_id
}
