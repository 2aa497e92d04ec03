// Peerings in the metadata store. One statement a function. The other side's row, the mirror, is the one of the peer VPC
// that names this VPC and its project; a link is wanted where both are there and neither has failed.
import type { Sql } from '../store/db.ts'
import { fragment, sql } from '../store/sql.ts'

export type PeeringRow = {
  id: number
  vpc_id: number
  peer_account_id: string
  peer_region_code: string
  peer_vpc_id: string
  failure: string | null
  provisioned_id: string | null
  /** Of its VPC. */
  project_id: string
  vpc_waiting_for: string | null
  /** The other side wants it too. */
  consented: boolean
}

export type NewPeering = Pick<PeeringRow, 'vpc_id' | 'peer_account_id' | 'peer_region_code' | 'peer_vpc_id'>

/** p of VPC v, and the mirror m of VPC w. */
const mirrors = fragment`peerings m
  join vpcs w on w.id = m.vpc_id and w.deleted_at is null
  where m.peer_vpc_id = p.vpc_id::text and m.peer_account_id = v.project_id
    and p.peer_vpc_id = m.vpc_id::text and p.peer_account_id = w.project_id`

const select_peering = fragment`
  select p.id, p.vpc_id, p.peer_account_id, p.peer_region_code, p.peer_vpc_id, p.failure, p.provisioned_id,
         v.project_id, v.waiting_for as vpc_waiting_for,
         exists (select from ${mirrors} and m.failure is null) as consented
  from peerings p join vpcs v on v.id = p.vpc_id`

/** Its id; undefined when there is such a peering already. */
export async function insertPeering(tx: Sql, peering: NewPeering): Promise<number | undefined> {
  const [row] = await tx.query(sql<{ id: number }>`
    insert into peerings (vpc_id, peer_account_id, peer_region_code, peer_vpc_id)
    values (${peering.vpc_id}, ${peering.peer_account_id}, ${peering.peer_region_code}, ${peering.peer_vpc_id})
    on conflict on constraint peering_is_made_once do nothing returning id`)
  return row?.id
}

export async function listPeerings(db: Sql, vpc_id: number): Promise<PeeringRow[]> {
  return db.query(sql<PeeringRow>`${select_peering} where p.vpc_id = ${vpc_id} order by p.id`)
}

export async function listPeeringsOfProject(db: Sql, project_id: string): Promise<PeeringRow[]> {
  return db.query(sql<PeeringRow>`
    ${select_peering} where v.project_id = ${project_id} and v.deleted_at is null order by p.id`)
}

export async function findPeering(db: Sql, vpc_id: number, id: number): Promise<PeeringRow | undefined> {
  const [row] = await db.query(sql<PeeringRow>`${select_peering} where p.vpc_id = ${vpc_id} and p.id = ${id}`)
  return row
}

type MirrorRow = Pick<PeeringRow, 'id' | 'vpc_id' | 'peer_region_code' | 'failure' | 'provisioned_id'>

export async function findMirror(db: Sql, id: number): Promise<MirrorRow | undefined> {
  const [row] = await db.query(sql<MirrorRow>`
    select mirror.* from peerings p join vpcs v on v.id = p.vpc_id
    cross join lateral (select m.id, m.vpc_id, m.peer_region_code, m.failure, m.provisioned_id from ${mirrors}) mirror
    where p.id = ${id}`)
  return row
}

/** link_id is the same on both sides. */
export type LinkRow = {
  peering_id: number
  link_id: number
  vpc_id: number
  cidr: string
  provisioned_id: string | null
}

export async function listLinks(db: Sql, vpc_id: number): Promise<LinkRow[]> {
  return db.query(sql<LinkRow>`
    select p.id as peering_id, least(p.id, mirror.id) as link_id, mirror.vpc_id, mirror.cidr, p.provisioned_id
    from peerings p join vpcs v on v.id = p.vpc_id
    cross join lateral (select m.id, m.vpc_id, w.cidr from ${mirrors} and m.failure is null) mirror
    where p.vpc_id = ${vpc_id} and p.failure is null order by p.id`)
}

export async function saveFailure(tx: Sql, id: number, failure: string): Promise<void> {
  await tx.query(sql`update peerings set failure = ${failure}, provisioned_id = null where id = ${id}`)
}

export async function saveProvisioned(tx: Sql, id: number, provisioned_id: string | null): Promise<void> {
  await tx.query(sql`update peerings set provisioned_id = ${provisioned_id} where id = ${id}`)
}

/** From now on each goes with the other. */
export async function saveMadeWith(tx: Sql, one: number, other: number): Promise<void> {
  await tx.query(sql`
    update peerings set made_with = case id when ${one} then ${other}::bigint else ${one}::bigint end
    where id in (${one}, ${other})`)
}

/** Together with its mirror, where they were made together. */
export async function removePeering(tx: Sql, id: number): Promise<void> {
  await tx.query(sql`delete from peerings where id = ${id} or made_with = ${id}`)
}
