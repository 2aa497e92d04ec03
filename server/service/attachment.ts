// Which services are in which VPC. Attaching and detaching assign services.vpc_id, like a resize assigns a size. An address
// is taken in the transaction that attaches, and released when a pass has observed the service outside.
import { Fault, notFound, unknown_vpc } from '#contract/fault.ts'
import { invalidRequest } from '#contract/problem.ts'
import type { Sql } from '../store/db.ts'
import type { Handlers } from '../http/handler.ts'
import { number_form } from '../http/path-id.ts'
import type { Provider } from '#providers/provider.ts'
import { type AddressRole, findLeaving, takeAddress } from '../address.ts'
import { getProvider, type Regions, requireMakeable } from '../regions.ts'
import { type At, lockService, saveChange, setIdsOf } from './change.ts'
import type { ServiceContext } from './context.ts'
import { shapeChange } from './rules.ts'
import type { ServiceRow } from './store.ts'
import { findVpcOf, lockVpcs, type VpcRow } from '../vpc/store.ts'

export function attachmentHandlers(context: ServiceContext): Pick<Handlers, 'attachToVpc' | 'detachFromVpc'> {
  const { db, providers } = context
  return {
    attachToVpc: async ({ params, body: { vpc_id } }) => {
      const address = await db.transaction((tx) => attach(tx, providers, params, vpc_id))
      return { message: `the service moves to ${address}:5432 in VPC ${vpc_id}` }
    },

    detachFromVpc: async ({ params, body: { vpc_id } }) => {
      const left = await db.transaction((tx) => detach(tx, params, vpc_id))
      return { message: `the service leaves VPC ${left}` }
    },
  }
}

async function attach(tx: Sql, providers: Regions, at: At, vpc_id: string): Promise<string> {
  const service = await lockService(tx, at)
  const provider = getProvider(providers, service.region_code)
  requireMakeable(provider.service.refusal({ vpc: true }))
  const [vpc] = number_form.test(vpc_id) ? await lockVpcs(tx, [Number(vpc_id)]) : []
  if (vpc?.project_id !== at.project_id) throw notFound(unknown_vpc)
  if (service.vpc_id !== null) {
    throw new Fault('CONFLICT', `the service is attached to VPC ${service.vpc_id} already; detach it first`)
  }
  if (vpc.region_code !== service.region_code) {
    const regions = `VPC ${vpc.id} is in region ${vpc.region_code}, the service in ${service.region_code}`
    throw invalidRequest([{ path: '/vpc_id', message: `${regions}; use a VPC of the service’s region` }])
  }
  const left = await findLeaving(tx, [service.service_id, ...setIdsOf(service)])
  if (left !== undefined) {
    throw new Fault(
      'CONFLICT',
      `a replica set of the service is still leaving VPC ${left}; repeat the request in a moment`,
    )
  }
  const address = await takeAllIn(vpc, tx, provider, service)
  const event = `attachment to VPC ${vpc.id} at ${address}`
  await saveChange(tx, service, { ...shapeChange(service, { vpc_id: vpc.id }), event })
  return address
}

async function detach(tx: Sql, at: At, vpc_id: string | undefined): Promise<number> {
  const service = await lockService(tx, at)
  if (service.vpc_id === null) throw new Fault('CONFLICT', 'the service is attached to no VPC')
  if (vpc_id !== undefined && vpc_id !== String(service.vpc_id)) {
    const message = `the service is attached to VPC ${service.vpc_id}; name that one, or none`
    throw invalidRequest([{ path: '/vpc_id', message }])
  }
  const event = `detachment from VPC ${service.vpc_id}`
  await saveChange(tx, service, { ...shapeChange(service, { vpc_id: null }), event })
  return service.vpc_id
}

/** For a service or a replica set of it, or the pooler of either: at home, and in the VPC that the service is in. Each is taken once. */
export async function takeAddresses(
  { providers }: Pick<ServiceContext, 'providers'>,
  tx: Sql,
  service: ServiceRow,
  of: { owner_id: string; role: AddressRole },
): Promise<void> {
  const { region_code } = service
  const own = { ...of, region_code, provider: getProvider(providers, region_code) }
  await takeAddress(tx, own)
  const vpc = await findVpcOf(tx, service)
  if (vpc) await takeAddress(tx, { ...own, vpc })
}

/** Addresses in the VPC for everything of the service that listens somewhere. The service's own is returned. */
async function takeAllIn(vpc: VpcRow, tx: Sql, provider: Provider, service: ServiceRow): Promise<string> {
  const take = async (owner_id: string, pooler: boolean) => {
    const own = { provider, region_code: service.region_code, vpc, owner_id }
    const { host } = await takeAddress(tx, { ...own, role: 'service' })
    if (pooler) await takeAddress(tx, { ...own, role: 'pooler' })
    return host
  }
  const host = await take(service.service_id, service.pooler)
  for (const { replica_set_id, pooler } of service.replica_sets) await take(replica_set_id, pooler)
  return host
}
