// Two sides of a peering for tests: VPCs in projects of their own, each with its administrator.
import { expect } from 'vitest'
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

/** Both ask at the same moment; then both withdraw, while the other side asks once more. Returns when no VPC has anything left to do. */
export async function withdrawWhileAnswered({ db }: Callers, one: Side, other: Side): Promise<void> {
  const [answered] = (await Promise.all([peer(other, one), peer(one, other)])).map(({ body }) => body)
  const [mine] = await list(one)
  await untilActive(one, mine?.id ?? '')
  const answers = await Promise.all([
    other.call('DELETE', `${other.peerings}/${answered?.id}`),
    one.call('DELETE', `${one.peerings}/${mine?.id}`),
    peer(other, one),
  ])
  expect(answers.map(({ status }) => status)).toEqual([204, 204, expect.toSatisfy((code) => [201, 409].includes(code))])
  const busy = `select from work where kind = 'vpc' and key = any ($1) and (lease_token is not null or due_at <= now())`
  await until(async () => (await db.query(busy, [[one.vpc.id, other.vpc.id]])).length === 0)
}
