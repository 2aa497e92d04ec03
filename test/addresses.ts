// Addresses for what tests ask of a provider by hand, and for rows that tests write into the store by hand.
import type { Endpoint, Provider } from '#providers/provider.ts'
import type { Db } from '#server/store/db.ts'

/** Of the block that the tests of a world have, all but a few. */
const lately_max = 30
const lately = new Set<number>()

/** The first candidate of the provider whose port is not taken, and was not given to another lately; it is from then on. */
export async function newEndpoint(
  provider: Pick<Provider, 'addresses'>,
  taken: Set<number> = new Set(),
): Promise<Endpoint> {
  const id = Math.random().toString(36)
  for await (const endpoint of provider.addresses({ id, role: 'service' })) {
    if (taken.has(endpoint.port) || lately.has(endpoint.port)) continue
    taken.add(endpoint.port)
    lately.add(endpoint.port)
    for (const oldest of [...lately].slice(0, -lately_max)) lately.delete(oldest)
    return endpoint
  }
  throw new Error('a provider has candidates without end, or says why not')
}

/** Every service and replica set that has none gets its own, and one for a pooler. */
export async function giveAddresses(db: Pick<Db, 'query'>): Promise<void> {
  await db.query(
    `insert into addresses (region_code, host, port, owner_id, role)
     select region_code, 'localhost', (select coalesce(max(port), 0) from addresses) + row_number() over (), id, role
     from (select region_code, service_id as id from services
           union all select region_code, replica_set_id from replica_sets) as owners,
       (values ('service'), ('pooler')) as roles (role)
     on conflict do nothing`,
  )
}
