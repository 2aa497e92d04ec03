// The connection pooler on and off: verbs that answer when the pooler is on, or off. Its port is taken once and stays, so
// that a pooler that comes back is where it was.
import { Fault } from '#contract/fault.ts'
import type { pooler_endpoints } from '#contract/pooler.ts'
import type { Handlers } from '../http/handler.ts'
import { getProvider, requireMakeable } from '../regions.ts'
import { takeAddresses } from './attachment.ts'
import { type At, changeServiceNow } from './change.ts'
import type { ServiceContext } from './context.ts'
import type { ServiceRow } from './store.ts'

export function poolerHandlers(context: ServiceContext): Pick<Handlers, keyof typeof pooler_endpoints> {
  return {
    enablePooler: ({ params }) => switchPooler(context, params, true),
    disablePooler: ({ params }) => switchPooler(context, params, false),
  }
}

async function switchPooler(context: ServiceContext, at: At, pooler: boolean): Promise<{ message: string }> {
  const words = pooler ? 'enabled' : 'disabled'
  await changeServiceNow(context, at, async (row, tx) => {
    if (pooler) requirePooler(context, row)
    if (row.pooler === pooler) throw new Fault('CONFLICT', `the pooler is already ${words}`)
    if (pooler) await takeAddresses(context, tx, row, { owner_id: row.service_id, role: 'pooler' })
    return poolerChange(row, pooler)
  })
  return { message: `the pooler is ${words}` }
}

/** Where no pooler can run. */
export function requirePooler({ providers }: ServiceContext, { region_code }: Pick<ServiceRow, 'region_code'>): void {
  requireMakeable(getProvider(providers, region_code).service.refusal({ pooler: true }))
}

/** The columns that change, of a service or of a replica set. */
export function poolerChange({ generation }: Pick<ServiceRow, 'generation'>, pooler: boolean) {
  return { pooler, generation: generation + 1, event: pooler ? 'a pooler' : 'no pooler' }
}
