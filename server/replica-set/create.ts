// Create a read replica set: check everything that can be wrong at once, then write its row at a free endpoint.
import type { Static } from 'typebox'
import { api } from '#contract/api.ts'
import { Fault } from '#contract/fault.ts'
import { invalidRequest, type Problem } from '#contract/problem.ts'
import type { CreateReplicaSetInput, ReadReplicaSet } from '#contract/replica-set.ts'
import { newId } from '../id.ts'
import type { Size } from '#contract/size.ts'
import { getProvider, refusedBy } from '../regions.ts'
import { type At, getService, lockService } from '../service/change.ts'
import { takeAddresses } from '../service/attachment.ts'
import type { ServiceContext } from '../service/context.ts'
import { insertEvent } from '../event.ts'
import { requireStatus, sizeOf } from '../service/rules.ts'
import { nudge } from '../work.ts'
import { replicaSetView } from '../service/replica-set-view.ts'
import { parseNodes, parseSetSize, sets_per_service_max } from './rules.ts'
import { insertReplicaSet } from '../service/replica-sets.ts'

type Input = Static<typeof CreateReplicaSetInput>

export async function createReplicaSet(context: ServiceContext, at: At, input: Input): Promise<ReadReplicaSet> {
  const { db, providers } = context
  const problems: Problem[] = []
  const service = await getService(db, at)
  const name = input.name.trim()
  const { nodes, size } = parseSet(input, sizeOf(service), problems)
  requireStatus(service, api.createReplicaSet.accepts, new Date())
  const { region_code } = service
  problems.push(...refusedBy(getProvider(providers, region_code).replica_set.refusal({ size, nodes })))
  if (problems.length > 0) throw invalidRequest(problems)
  return db.transaction(async (tx) => {
    const parent = await lockService(tx, at)
    const { service_id, replica_sets, environment } = parent
    if (replica_sets.length >= sets_per_service_max) {
      const limit = `a service has at most ${sets_per_service_max} replica sets`
      throw new Fault('QUOTA_EXCEEDED', `${limit}; delete one, or create one with more nodes`)
    }
    const replica_set_id = newId()
    await takeAddresses(context, tx, parent, { owner_id: replica_set_id, role: 'service' })
    const wanted = { replica_set_id, service_id, region_code, name, environment, nodes }
    const row = await insertReplicaSet(tx, { ...wanted, ...size })
    await insertEvent(
      tx,
      service_id,
      'requested',
      `replica set ${name}: creation with ${nodes} ${nodes === 1 ? 'node' : 'nodes'} (${replica_set_id})`,
    )
    await nudge(tx, 'replica set', replica_set_id)
    return replicaSetView(row, parent)
  })
}

/** Of the members that are there, beyond their schema. */
export function parseSet(input: Partial<Input>, otherwise: Size, problems: Problem[]) {
  return { nodes: parseNodes(input.nodes ?? 1, problems), size: parseSetSize(input, problems, otherwise) }
}
