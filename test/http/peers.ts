// Two sides of a peering for tests: VPCs in projects of their own, each with its administrator.
import type { FaultBody } from '#contract/fault.ts'
import type { Peering } from '#contract/peering.ts'
import type { Vpc } from '#contract/vpc.ts'
import type { Call } from '../call.ts'
import { until } from '../until.ts'
import type { Callers } from './callers.ts'

export type PeeringOrFault = Peering & FaultBody
export type Side = { call: Call; project_id: string; user_id: number; vpc: Vpc; peerings: string }

/** Each side has a block of its own, unless it names one. */
export function newSides(callers: Callers): (more?: { project_id?: string; cidr?: string }) => Promise<Side> {
  let blocks = 0
  return async (more = {}) => {
    const at = { project_id: more.project_id ?? (await callers.newProject()) }
    const { token, project_id, user_id } = await callers.newToken('admin', at)
    const call = callers.callWith(token)
    const cidr = more.cidr ?? `10.100.${blocks++}.0/24`
    const { body: vpc } = await call<Vpc>('POST', `/projects/${project_id}/vpcs`, {
      cidr,
      name: 'x',
      region_code: 'local',
    })
    return { call, project_id, user_id, vpc, peerings: `/projects/${project_id}/vpcs/${vpc.id}/peerings` }
  }
}

export const inputFor = (peer: Pick<Side, 'project_id'> & { vpc: Pick<Vpc, 'id'> }) => ({
  peer_account_id: peer.project_id,
  peer_region_code: 'local',
  peer_vpc_id: peer.vpc.id,
})

export const peer = (
  one: Side,
  other: Parameters<typeof inputFor>[0],
  more: Record<string, unknown> = {},
  call = one.call,
) => call<PeeringOrFault>('POST', one.peerings, { ...inputFor(other), ...more })

export const get = async ({ call, peerings }: Side, id: string) =>
  (await call<PeeringOrFault>('GET', `${peerings}/${id}`)).body

export const list = async ({ call, peerings }: Side) => (await call<Peering[]>('GET', peerings)).body

export const untilActive = (side: Side, id: string) =>
  until(
    async () => {
      const seen = await get(side, id)
      return seen.status === 'active' && seen
    },
    { what: 'the peering is active' },
  )
