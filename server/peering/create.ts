// Creates a peering: this side's consent, the other side's too where the caller administers both, and a verdict as far as
// the caller may know it (see rules.ts). Both VPCs are locked, so that two sides who create at once see each other.
import { type Role, roleAllows } from '#contract/endpoint.ts'
import { Fault, notFound, unknown_vpc } from '#contract/fault.ts'
import { invalidRequest } from '#contract/problem.ts'
import type { Sql } from '../store/db.ts'
import type { Caller } from '../http/handler.ts'
import { findRole } from '../identity/store.ts'
import { number_form } from '../http/path-id.ts'
import { findProject } from '../project/store.ts'
import { lockVpcs, raiseGenerations, type VpcRow } from '../vpc/store.ts'
import { nudge } from '../work.ts'
import {
  ambiguityOf,
  linkProblem,
  no_driver,
  ownPeerProblems,
  peerings_per_vpc_max,
  peerNotFound,
  regionProblem,
} from './rules.ts'
import {
  findMirror,
  findPeering,
  insertPeering,
  listLinks,
  listPeerings,
  type NewPeering,
  type PeeringRow,
  saveFailure,
  saveMadeWith,
} from '../vpc/peerings.ts'

type Input = Omit<NewPeering, 'vpc_id'>
type Request = { at: { project_id: string; vpc_id: string }; input: Input; caller: Caller; role: Role }

export async function createPeering(tx: Sql, { at, input, caller, role }: Request): Promise<PeeringRow> {
  const { own, peer } = await lockBoth(tx, at, input)
  const problems = ownPeerProblems(at, input)
  if (problems.length > 0) throw invalidRequest(problems)
  const id = await insertOwn(tx, own, input)
  const role_there = input.peer_account_id === own.project_id ? role : await roleIn(tx, caller, input.peer_account_id)
  const failure =
    (await findProject(tx, input.peer_account_id)) === undefined
      ? no_driver
      : await meet(tx, { id, own, peer, input, role_there })
  if (failure !== undefined) await saveFailure(tx, id, failure)
  const row = await findPeering(tx, own.id, id)
  if (row === undefined) throw new Error('a peering that was just made is not there')
  return row
}

/** peer: what the input names, whether or not the caller may know of it. */
async function lockBoth(tx: Sql, at: Request['at'], input: Input): Promise<{ own: VpcRow; peer: VpcRow | undefined }> {
  const ids = [at.vpc_id, input.peer_vpc_id].filter((id) => number_form.test(id)).map(Number)
  const rows = await lockVpcs(tx, ids)
  const find = (project_id: string, id: string) =>
    rows.find((row) => row.project_id === project_id && String(row.id) === id)
  const own = find(at.project_id, at.vpc_id)
  if (own === undefined) throw notFound(unknown_vpc)
  return { own, peer: find(input.peer_account_id, input.peer_vpc_id) }
}

async function insertOwn(tx: Sql, own: VpcRow, input: Input): Promise<number> {
  const id = await insertPeering(tx, { vpc_id: own.id, ...input })
  const all = await listPeerings(tx, own.id)
  if (id === undefined) {
    const same = all.find(
      (row) => row.peer_account_id === input.peer_account_id && row.peer_vpc_id === input.peer_vpc_id,
    )
    throw new Fault('CONFLICT', `there is a peering with this VPC already: ${same?.id}; delete it to make another one`)
  }
  if (all.length > peerings_per_vpc_max) {
    throw new Fault('QUOTA_EXCEEDED', `a VPC has at most ${peerings_per_vpc_max} peerings; delete one first`)
  }
  return id
}

/** As it is now, not as the door believes it to be. A token has a role in its own project only. */
async function roleIn(tx: Sql, caller: Caller, project_id: string): Promise<Role | undefined> {
  return caller.type === 'oauth' ? findRole(tx, project_id, Number(caller.user.id)) : undefined
}

type Meeting = { id: number; own: VpcRow; peer: VpcRow | undefined; input: Input; role_there: Role | undefined }

/** Brings the two sides together as far as both want it. Returns why this side's peering has failed, if it has. */
async function meet(tx: Sql, { id, own, peer, input, role_there }: Meeting): Promise<string | undefined> {
  const mirror = await findMirror(tx, id)
  const wanted_there = mirror !== undefined && mirror.failure === null
  // Neither may this caller know of the peer, nor has the peer's side made itself known.
  if (role_there === undefined && !wanted_there) return undefined
  if (peer === undefined) return peerNotFound(input)
  const problem =
    linkProblem(own, peer) ??
    ambiguityOf(own, peer, await listLinks(tx, own.id)) ??
    ambiguityOf(peer, own, await listLinks(tx, peer.id))
  if (wanted_there) {
    const theirs = regionProblem(mirror.peer_region_code, own) ?? problem
    if (theirs !== undefined) await saveFailure(tx, mirror.id, theirs)
  }
  const ours = regionProblem(input.peer_region_code, peer) ?? problem
  if (ours !== undefined) return ours
  if (mirror === undefined && role_there !== undefined && roleAllows(role_there, 'admin')) {
    await insertMirror(tx, id, own, peer)
  }
  for (const vpc of await raiseGenerations(tx, [own.id, peer.id])) await nudge(tx, 'vpc', String(vpc.id))
  return undefined
}

async function insertMirror(tx: Sql, id: number, own: VpcRow, peer: VpcRow): Promise<void> {
  const mirror_id = await insertPeering(tx, {
    vpc_id: peer.id,
    peer_account_id: own.project_id,
    peer_region_code: own.region_code,
    peer_vpc_id: String(own.id),
  })
  if (mirror_id !== undefined) await saveMadeWith(tx, id, mirror_id)
}
