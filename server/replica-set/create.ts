// Create a read replica set: check everything that can be wrong at once, then write its row at a free endpoint.
import type { Static } from 'typebox'
import { api } from '#contract/api.ts'
import { Fault } from '#contract/fault.ts'
import { invalidRequest, ofRequest, type Problem } from '#contract/problem.ts'
import type { CreateReplicaSetInput, ReadReplicaSet } from '#contract/replica-set.ts'
import { takeEndpoint } from '../endpoint.ts'
import { newId } from '../id.ts'
import { type At, getService, lockService } from '../service/change.ts'
import type { ServiceContext } from '../service/context.ts'
import { insertEvent } from '../service/events.ts'
import { parseName, requireStatus } from '../service/rules.ts'
import { withAddress } from '../vpc/address.ts'
import { nudge } from '../work.ts'
import { parseNodes, parseSetSize, replicaSetView, sets_per_service_max } from './rules.ts'
import { insertReplicaSet } from './store.ts'

type Input = Static<typeof CreateReplicaSetInput>

export async function createReplicaSet(
  { db, providers }: ServiceContext,
  at: At,
  input: Input,
): Promise<ReadReplicaSet> {
  const problems: Problem[] = []
  const { name, nodes, size } = parseSet(input, problems)
  const service = await getService(db, at)
  requireStatus(service, api.createReplicaSet.accepts, new Date())
  const { region_code } = service
  const provider = providers.get(region_code)
  if (provider === undefined) problems.push(ofRequest(`region ${region_code} is not configured on this server`))
  const refusal = await provider?.refusalOf({ size, extensions: [], ...(nodes > 1 && { balancer: true }) })
  if (refusal !== undefined) problems.push(ofRequest(refusal))
  if (provider === undefined || problems.length > 0) throw invalidRequest(problems)
  return db.transaction(async (tx) => {
    const parent = await lockService(tx, at)
    const { service_id, replica_sets, environment } = parent
    if (replica_sets.length >= sets_per_service_max) {
      const limit = `a service has at most ${sets_per_service_max} replica sets`
      throw new Fault('QUOTA_EXCEEDED', `${limit}; delete one, or create one with more nodes`)
    }
    const replica_set_id = newId()
    const endpoint = await takeEndpoint(tx, { provider, holder_id: replica_set_id })
    const described = { replica_set_id, service_id, region_code, name, environment, nodes }
    const row = await insertReplicaSet(tx, { ...described, ...endpoint, ...size })
    await insertEvent(
      tx,
      service_id,
      'requested',
      `replica set ${name}: created with ${nodes} ${nodes === 1 ? 'node' : 'nodes'} (${replica_set_id})`,
    )
    await nudge(tx, 'replica set', replica_set_id)
    return replicaSetView(row, await withAddress(tx, parent, replica_set_id))
  })
}

/** What is wrong with the members that are there, beyond their schema. */
export function setProblems(input: Partial<Input>): Problem[] {
  const problems: Problem[] = []
  if (input.name !== undefined) parseName(input.name, problems)
  if (input.nodes !== undefined) parseNodes(input.nodes, problems)
  if (input.cpu_millis !== undefined || input.memory_gbs !== undefined) parseSetSize(input, problems)
  return problems
}

function parseSet(input: Input, problems: Problem[]) {
  const name = parseName(input.name, problems)
  return { name, nodes: parseNodes(input.nodes, problems), size: parseSetSize(input, problems) }
}
