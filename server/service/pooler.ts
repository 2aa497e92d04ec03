// The connection pooler on and off: verbs that answer when what they ask for holds. Its port is taken once and stays, so
// that a pooler that comes back is where it was.
import { api } from '#contract/api.ts'
import { Fault } from '#contract/fault.ts'
import type { pooler_endpoints } from '#contract/pooler.ts'
import { invalidRequest, ofRequest } from '#contract/problem.ts'
import type { Sql } from '../store/db.ts'
import { takeEndpoint } from '../endpoint.ts'
import type { Handlers } from '../http/handler.ts'
import { withAddress } from '../vpc/address.ts'
import { poolerOf } from '../vpc/rules.ts'
import { type At, changeService, getService } from './change.ts'
import type { ServiceContext } from './context.ts'
import { requireStatus } from './rules.ts'
import { findService, type ServiceRow } from './store.ts'

export function poolerHandlers(context: ServiceContext): Pick<Handlers, keyof typeof pooler_endpoints> {
  return {
    enablePooler: ({ params }) => switchPooler(context, params, true),
    disablePooler: ({ params }) => switchPooler(context, params, false),
  }
}

async function switchPooler(context: ServiceContext, at: At, pooler: boolean): Promise<{ message: string }> {
  const { db, settled } = context
  const { accepts } = api.enablePooler
  const words = pooler ? 'enabled' : 'disabled'
  const service = await getService(db, at)
  requireStatus(service, accepts, new Date())
  if (pooler) await requirePooler(context, service)
  const { service_id, generation } = await changeService(context, at, async (row, tx) => {
    if (row.pooler === pooler) throw new Fault('CONFLICT', `the pooler is already ${words}`)
    if (pooler) await withAddress(tx, row, poolerOf('service'))
    return poolerChange(context, tx, { ...row, holder_id: row.service_id }, pooler)
  })
  await settled.wait(service_id, generation, async () => (await findService(db, service_id))?.settled_generation)
  return { message: `the pooler is ${words}` }
}

/** Refuses, in the provider's words, where no pooler can run. */
export async function requirePooler({ providers }: ServiceContext, { region_code }: Pick<ServiceRow, 'region_code'>) {
  const refusal = await providers.get(region_code)?.refusalOf({ size: 'shared', extensions: [], pooler: true })
  if (refusal !== undefined) throw invalidRequest([ofRequest(refusal)])
}

type Holder = Pick<ServiceRow, 'region_code' | 'host' | 'pooler_port' | 'generation'> & { holder_id: string }

/** The columns that change, of a service or of a replica set. */
export async function poolerChange({ providers }: ServiceContext, tx: Sql, holder: Holder, pooler: boolean) {
  const generation = holder.generation + 1
  const event = `the pooler is to be ${pooler ? 'enabled' : 'disabled'}`
  if (!pooler || holder.pooler_port !== null) return { pooler, generation, event }
  const provider = providers.get(holder.region_code)
  if (provider === undefined)
    throw invalidRequest([ofRequest(`region ${holder.region_code} is not configured on this server`)])
  const { holder_id, host } = holder
  const { port } = await takeEndpoint(tx, { provider, holder_id, host })
  return { pooler, pooler_port: port, generation, event }
}
