// The handlers of peerings. Creating one is one side's consent; deleting one withdraws it. A deletion that removes a link is
// answered when both sides have removed it.
import { notFound, unknown_peering, unknown_vpc } from '#contract/fault.ts'
import type { peering_endpoints } from '#contract/peering.ts'
import type { Db, Sql } from '../store/db.ts'
import type { Handlers } from '../http/handler.ts'
import { number_form } from '../http/path-id.ts'
import type { Settled } from '../settled.ts'
import { findVpc, findVpcOfProject, lockVpcs, raiseGenerations } from '../vpc/store.ts'
import { nudge } from '../work.ts'
import { createPeering } from './create.ts'
import { peeringView } from './rules.ts'
import {
  findMirror,
  findPeering,
  listPeerings,
  listPeeringsOfProject,
  type PeeringRow,
  removePeering,
  saveProvisioned,
} from '../vpc/peerings.ts'

type At = { project_id: string; vpc_id: string }

type Context = { db: Db; settled: Settled }

export function peeringHandlers({ db, settled }: Context): Pick<Handlers, keyof typeof peering_endpoints> {
  // A pass over a VPC removes the links that are not wanted, even when it lacks something else; a removed VPC has no links.
  const observedGeneration = async (vpc_id: number) =>
    (await findVpc(db, vpc_id))?.observed_generation ?? Number.POSITIVE_INFINITY
  return {
    listPeerings: async ({ params }) => (await listPeerings(db, await getVpcId(db, params))).map(peeringView),

    listProjectPeerings: async ({ params }) =>
      (await listPeeringsOfProject(db, params.project_id)).map((row) => ({
        ...peeringView(row),
        vpc_id: String(row.vpc_id),
      })),

    getPeering: async ({ params }) => peeringView(await getPeering(db, await getVpcId(db, params), params.peering_id)),

    createPeering: async ({ params, body, caller, role }) =>
      peeringView(await db.transaction((tx) => createPeering(tx, { at: params, input: body, caller, role }))),

    deletePeering: async ({ params }) => {
      const unlinked = await db.transaction((tx) => deletePeering(tx, params, params.peering_id))
      await Promise.all(
        unlinked.map(({ id, generation }) => settled.wait(String(id), generation, () => observedGeneration(id))),
      )
    },
  }
}

async function getVpcId(sql: Sql, { project_id, vpc_id }: At): Promise<number> {
  const row = await findVpcOfProject(sql, project_id, Number(vpc_id))
  if (row === undefined) throw notFound(unknown_vpc)
  return row.id
}

async function getPeering(sql: Sql, vpc_id: number, peering_id: string): Promise<PeeringRow> {
  const row = await findPeering(sql, vpc_id, Number(peering_id))
  if (row === undefined) throw notFound(unknown_peering)
  return row
}

/** Returns the VPCs between which there was a link, with the generations that have none. */
async function deletePeering(tx: Sql, at: At, peering_id: string): Promise<{ id: number; generation: number }[]> {
  const vpc_id = await getVpcId(tx, at)
  const found = await getPeering(tx, vpc_id, peering_id)
  // Both, in the order in which creating locks them: the other side may be answering right now.
  await lockVpcs(tx, [String(vpc_id), found.peer_vpc_id].filter((id) => number_form.test(id)).map(Number))
  // Again, under the lock: another request may have been faster.
  const { id, provisioned_id } = await getPeering(tx, vpc_id, peering_id)
  const mirror = await findMirror(tx, id)
  await removePeering(tx, id)
  if (mirror === undefined) return []
  await saveProvisioned(tx, mirror.id, null)
  const raised = await raiseGenerations(tx, [vpc_id, mirror.vpc_id])
  for (const vpc of raised) await nudge(tx, 'vpc', String(vpc.id))
  return provisioned_id === null && mirror.provisioned_id === null ? [] : raised
}
