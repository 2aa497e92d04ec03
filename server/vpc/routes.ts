// The handlers of VPCs themselves; those that move services are the services' own. A deleted one does not exist for callers from
// then on, and its network is removed after that.
import type { Static } from 'typebox'
import { Fault, notFound, unknown_project, unknown_vpc } from '#contract/fault.ts'
import { cidrProblem } from '#contract/cidr.ts'
import { checked, type Problem } from '#contract/problem.ts'
import type { CreateVpcInput, vpc_endpoints } from '#contract/vpc.ts'
import { type Db, isForeignKeyViolation, type Sql } from '../store/db.ts'
import type { Handlers } from '../http/handler.ts'
import { listPeerings } from './peerings.ts'
import { parseRegion, refusedBy, type Regions } from '../regions.ts'
import { nudge, nudgeAll } from '../work.ts'
import { vpcs_per_project_max, vpcView } from './rules.ts'
import {
  detachDeleted,
  findOverlapping,
  findVpcOfProject,
  insertVpc,
  listServicesOfVpc,
  listVpcs,
  lockVpcs,
  saveVpcDeleted,
  saveVpcName,
  type VpcRow,
} from './store.ts'

type Context = { db: Db; providers: Regions }
type At = { project_id: string; vpc_id: string }
type Input = Static<typeof CreateVpcInput>
type WantedColumns = Pick<VpcRow, 'project_id' | 'region_code' | 'name' | 'cidr'>

const named_max = 10

export function vpcHandlers(
  context: Context,
): Pick<Handlers, Exclude<keyof typeof vpc_endpoints, 'attachToVpc' | 'detachFromVpc'>> {
  const { db } = context
  return {
    listVpcs: async ({ params }) => (await listVpcs(db, params.project_id)).map(vpcView),

    getVpc: async ({ params }) => vpcView(found(await findVpcOfProject(db, params.project_id, Number(params.vpc_id)))),

    createVpc: async ({ params: { project_id }, body }) => {
      const region_code = checked((problems) => parseVpc(context, body, problems))
      return vpcView(await createVpc(db, { cidr: body.cidr, region_code, project_id, name: body.name.trim() }))
    },

    renameVpc: async ({ params, body }) =>
      vpcView(found(await saveVpcName(db, params.project_id, Number(params.vpc_id), body.name.trim()))),

    deleteVpc: ({ params }) =>
      db.transaction(async (tx) => {
        const { id } = await lockVpc(tx, params)
        const { service_ids, replica_set_ids } = await detachDeleted(tx, id)
        // After that, which waits for a deleted service that is being restored: then that one is in use.
        await refuseUnlessUnused(tx, id)
        await saveVpcDeleted(tx, id)
        await nudgeAll(tx, 'replica set', replica_set_ids)
        await nudgeAll(tx, 'service', service_ids)
        await nudge(tx, 'vpc', String(id))
      }),
  }
}

/** Of the members that are there, beyond their schema. The region in which it is to be. */
export function parseVpc({ providers }: Pick<Context, 'providers'>, input: Partial<Input>, problems: Problem[]) {
  const { cidr } = input
  const region_code = parseRegion(input.region_code, providers, problems)
  if (cidr === undefined) return region_code
  const message = cidrProblem(cidr)
  if (message !== undefined) problems.push({ path: '/cidr', message })
  else problems.push(...refusedBy(providers.get(region_code)?.vpc.refusal({ cidr })))
  return region_code
}

async function lockVpc(tx: Sql, { project_id, vpc_id }: At): Promise<VpcRow> {
  const [row] = await lockVpcs(tx, [Number(vpc_id)])
  return found(row?.project_id === project_id ? row : undefined)
}

function found(row: VpcRow | undefined): VpcRow {
  if (row === undefined) throw notFound(unknown_vpc)
  return row
}

async function createVpc(db: Db, vpc: WantedColumns): Promise<VpcRow> {
  const made = await db
    .transaction(async (tx) => {
      if ((await listVpcs(tx, vpc.project_id)).length >= vpcs_per_project_max) {
        throw new Fault('QUOTA_EXCEEDED', `a project has at most ${vpcs_per_project_max} VPCs; delete one first`)
      }
      const row = await insertVpc(tx, vpc)
      if (row !== undefined) await nudge(tx, 'vpc', String(row.id))
      return row
    })
    .catch((error: unknown) => {
      // Deleted since the caller's role was looked up.
      throw isForeignKeyViolation(error) ? notFound(unknown_project) : error
    })
  if (made !== undefined) return made
  const other = await findOverlapping(db, vpc.project_id, vpc.cidr)
  const named = other === undefined ? 'another VPC of this project' : `VPC ${other.id} (${other.name}, ${other.cidr})`
  throw new Fault('CONFLICT', `${vpc.cidr} overlaps ${named}; choose a block that does not`)
}

async function refuseUnlessUnused(tx: Sql, id: number): Promise<void> {
  const services = await listServicesOfVpc(tx, id)
  const peerings = await listPeerings(tx, id)
  const used = [
    ...services.map(({ service_id, name }) => `service ${service_id} (${name})`),
    ...peerings.map((peering) => `peering ${peering.id}`),
  ]
  if (used.length === 0) return
  const more = used.length > named_max ? ` and ${used.length - named_max} more` : ''
  const named = `${used.slice(0, named_max).join(', ')}${more}`
  throw new Fault('CONFLICT', `the VPC is in use; detach its services and delete its peerings first: ${named}`)
}
