// Addresses: every place at which something is reached, outside of VPCs and in them, comes out of one table with one constraint, so that
// no two things ever share one. The provider names candidates, the first free one is taken in the transaction that wants it. What is
// taken outside of VPCs stays its owner's until that is removed; what is taken in a VPC, until its owner was observed outside.
import assert from 'node:assert/strict'
import { Fault } from '#contract/fault.ts'
import { type Endpoint, NoAddress, type Provider, type WantedService } from '#providers/provider.ts'
import type { Sql } from './store/db.ts'
import { fragment, sql } from './store/sql.ts'
import { nudge } from './work.ts'

export type AddressRole = 'service' | 'pooler'

/** vpc_id null: outside of all. */
export type AddressRow = Endpoint & { role: AddressRole; vpc_id: number | null }

type Taking = {
  provider: Pick<Provider, 'addresses'>
  region_code: string
  /** The service or the replica set that is reached there. */
  owner_id: string
  role: AddressRole
  vpc?: { id: number; cidr: string }
}

/** A list of AddressRow in one column; whose they are is for the query to say, in a `where` that follows. */
export const select_addresses = fragment`
  select coalesce(json_agg(json_build_object('role', role, 'vpc_id', vpc_id, 'host', host, 'port', port)), '[]')
  from addresses`

/** The owner's address, or the first free candidate. */
export async function takeAddress(tx: Sql, taking: Taking): Promise<AddressRow> {
  const { provider, region_code, owner_id, role, vpc } = taking
  const vpc_id = vpc?.id ?? null
  const own = await findAddress(tx, owner_id, role, vpc_id)
  if (own !== undefined) return own
  const taken = await listTaken(tx, region_code, vpc_id)
  try {
    for await (const { host, port } of provider.addresses({ id: owner_id, role, ...(vpc && { cidr: vpc.cidr }) })) {
      const row = { host, port, role, vpc_id }
      if (!taken.has(`${host} ${port}`) && (await insertAddress(tx, region_code, owner_id, row))) return row
    }
  } catch (error) {
    if (!(error instanceof NoAddress)) throw error
    throw new Fault(vpc ? 'CONFLICT' : 'UNAVAILABLE', error.message)
  }
  throw new Fault('UNAVAILABLE', `no address is free in region ${region_code}; delete something first`)
}

async function findAddress(tx: Sql, owner_id: string, role: AddressRole, vpc_id: number | null) {
  const [row] = await tx.query(sql<AddressRow>`
    select role, vpc_id, host, port from addresses
    where owner_id = ${owner_id} and role = ${role} and vpc_id is not distinct from ${vpc_id}`)
  return row
}

async function listTaken(tx: Sql, region_code: string, vpc_id: number | null): Promise<Set<string>> {
  const rows = await tx.query(sql<Endpoint>`
    select host, port from addresses where region_code = ${region_code} and vpc_id is not distinct from ${vpc_id}`)
  return new Set(rows.map(({ host, port }) => `${host} ${port}`))
}

/** False when another owner has got it meanwhile. */
async function insertAddress(tx: Sql, region_code: string, owner_id: string, row: AddressRow): Promise<boolean> {
  const rows = await tx.query(sql`
    insert into addresses (region_code, vpc_id, host, port, owner_id, role)
    values (${region_code}, ${row.vpc_id}, ${row.host}, ${row.port}, ${owner_id}, ${row.role})
    on conflict do nothing returning port`)
  return rows.length === 1
}

/** The owner was observed in no VPC: requests for its addresses there, and the removal of the VPC, can go on. */
export async function releaseAddresses(tx: Sql, owner_id: string): Promise<void> {
  const rows = await tx.query(sql<{ vpc_id: number }>`
    delete from addresses where owner_id = ${owner_id} and vpc_id is not null returning vpc_id`)
  for (const vpc_id of new Set(rows.map((row) => row.vpc_id))) await nudge(tx, 'vpc', String(vpc_id))
}

/** The VPC in which one of these still has an address. */
export async function findLeaving(tx: Sql, owner_ids: readonly string[]): Promise<number | undefined> {
  const [row] = await tx.query(sql<{ vpc_id: number }>`
    select vpc_id from addresses where owner_id = any (${owner_ids}) and vpc_id is not null limit 1`)
  return row?.vpc_id
}

/** What has addresses: a service or a replica set. */
type Owner = { addresses: readonly AddressRow[] }

/** Where it is reached now: in the VPC that its service is in, or at home. */
export function endpointOf({ addresses }: Owner, vpc_id: number | null, role: AddressRole = 'service'): Endpoint {
  const found = addresses.find((one) => one.vpc_id === vpc_id && one.role === role)
  assert(found !== undefined, 'what is wanted somewhere has an address there')
  return { host: found.host, port: found.port }
}

/** The addresses that its provider needs. */
export function wantedAddressesOf(
  owner: Owner & { pooler: boolean },
  vpc_id: number | null,
): Pick<WantedService, 'home' | 'reach' | 'pooler' | 'vpc_id'> {
  return {
    home: endpointOf(owner, null),
    reach: endpointOf(owner, vpc_id),
    ...(owner.pooler && { pooler: endpointOf(owner, vpc_id, 'pooler') }),
    ...(vpc_id !== null && { vpc_id: String(vpc_id) }),
  }
}
