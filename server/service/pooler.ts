// The connection pooler on and off: verbs that answer when the pooler is on, or off. Its port is taken once and stays, so
// that a pooler that comes back is where it was.
import { Fault } from '#contract/fault.ts'
import type { pooler_endpoints } from '#contract/pooler.ts'
import type { Sql } from '../store/db.ts'
import { takeAddress } from '../address.ts'
import type { Handlers } from '../http/handler.ts'
import { getProvider, requireMakeable } from '../regions.ts'
import { findVpcOf } from '../vpc/store.ts'
import { type At, changeService } from './change.ts'
import type { ServiceContext } from './context.ts'
import { findService, type ServiceRow } from './store.ts'

export function poolerHandlers(context: ServiceContext): Pick<Handlers, keyof typeof pooler_endpoints> {
  return {
    enablePooler: ({ params }) => switchPooler(context, params, true),
    disablePooler: ({ params }) => switchPooler(context, params, false),
  }
}

async function switchPooler(context: ServiceContext, at: At, pooler: boolean): Promise<{ message: string }> {
  const { db, settled } = context
  const words = pooler ? 'enabled' : 'disabled'
  const { service_id, generation } = await changeService(context, at, async (row, tx) => {
    if (pooler) requirePooler(context, row)
    if (row.pooler === pooler) throw new Fault('CONFLICT', `the pooler is already ${words}`)
    if (pooler) await takePoolerAddress(context, tx, row, row.service_id)
    return poolerChange(row, pooler)
  })
  await settled.wait(service_id, generation, async () => (await findService(db, service_id))?.settled_generation)
  return { message: `the pooler is ${words}` }
}

/** Where no pooler can run. */
export function requirePooler({ providers }: ServiceContext, { region_code }: Pick<ServiceRow, 'region_code'>): void {
  requireMakeable(getProvider(providers, region_code).service.refusal({ pooler: true }))
}

/** Taken once, at home and where its service is. Of a service or of a replica set of it. */
export async function takePoolerAddress({ providers }: ServiceContext, tx: Sql, service: ServiceRow, owner_id: string) {
  const { region_code } = service
  const own = { provider: getProvider(providers, region_code), region_code, owner_id, role: 'pooler' } as const
  await takeAddress(tx, own)
  const vpc = await findVpcOf(tx, service)
  if (vpc) await takeAddress(tx, { ...own, vpc })
}

/** The columns that change, of a service or of a replica set. */
export function poolerChange({ generation }: Pick<ServiceRow, 'generation'>, pooler: boolean) {
  const event = `the pooler is to be ${pooler ? 'enabled' : 'disabled'}`
  return { pooler, generation: generation + 1, event }
}
