// A project with one of everything that a path can name, written straight into the store, in a region that no server runs:
// nothing of it is ever made, and nothing happens to it by itself.
import type { Db } from '#server/store/db.ts'
import { newId } from '#server/id.ts'
import { insertUser } from '#server/identity/store.ts'
import { createToken } from '#server/identity/token.ts'
import { giveAddresses } from '#test/addresses.ts'
import { insertMember } from '#server/member/store.ts'

/** By the names that the contract's paths use. */
export type World = Readonly<Record<string, string>>

/** Ids of the right form that nothing has. */
export const no_world: World = {
  project_id: 'nosuchid00',
  service_id: 'nosuchid00',
  replica_set_id: 'nosuchid00',
  snapshot_id: 'nosuchid00',
  user_id: '999999999',
  vpc_id: '999999999',
  peering_id: '999999999',
  public_key: 'NOSUCHKEY0',
}

const region = 'elsewhere'

export async function fillProject(db: Db, project_id: string): Promise<World> {
  const [service_id, replica_set_id, snapshot_id] = [newId(), newId(), newId()]
  const { id: user_id } = await insertUser(db, { email: `${newId()}@example.com`, name: 'a member' })
  await insertMember(db, { project_id, user_id, role: 'viewer' })
  const { public_key } = await createToken(db, { project_id, user_id, name: 'a token' })
  await db.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment,
       password_verifier, state, settled_generation, observed_at)
     values ($1, $2, 'a service', $3, 'POSTGRES', 'DEV', '', 'serving', 1, now())`,
    [service_id, project_id, region],
  )
  await db.query(
    `insert into replica_sets (replica_set_id, service_id, region_code, name, environment, nodes, cpu_millis,
       memory_gbs, state, settled_generation, observed_at)
     values ($1, $2, $3, 'a set', 'DEV', 1, 500, 2, 'serving', 1, now())`,
    [replica_set_id, service_id, region],
  )
  await giveAddresses(db)
  await db.query(
    `insert into snapshots (snapshot_id, service_id, kind, taken_at) values ($1, $2, 'manual', now()),
       ($3, $2, 'manual', now())`,
    [snapshot_id, service_id, newId()],
  )
  const vpc_id = await idOf(
    db,
    `insert into vpcs (project_id, region_code, name, cidr) values ($1, $2, 'a VPC', '10.64.0.0/24') returning id`,
    [project_id, region],
  )
  const peering_id = await idOf(
    db,
    `insert into peerings (vpc_id, peer_account_id, peer_region_code, peer_vpc_id) values ($1, 'nosuchid00', $2, '1')
     returning id`,
    [vpc_id, region],
  )
  return {
    project_id,
    service_id,
    replica_set_id,
    snapshot_id,
    user_id: String(user_id),
    vpc_id,
    peering_id,
    public_key,
  }
}

/** Everything that is stored of a project, as text: to see that nothing has changed. */
export async function storedOf(db: Db, { project_id, service_id, vpc_id }: World): Promise<string[]> {
  const of_project = [
    'projects p where p.id',
    ...['members', 'tokens', 'services', 'vpcs'].map((table) => `${table} p where p.project_id`),
  ]
  const of_service = ['replica_sets', 'snapshots', 'service_events'].map((table) => `${table} p where p.service_id`)
  const texts = async (place: string, id: string | undefined) =>
    (await db.query<{ text: string }>(`select p::text as text from ${place} = $1`, [id])).map(({ text }) => text)
  const found = [
    ...of_project.map((place) => texts(place, project_id)),
    ...of_service.map((place) => texts(place, service_id)),
    texts('peerings p where p.vpc_id', vpc_id),
  ]
  return (await Promise.all(found)).flat().toSorted()
}

async function idOf(db: Db, statement: string, values: unknown[]): Promise<string> {
  const [row] = await db.query<{ id: number }>(statement, values)
  return String(row?.id)
}
