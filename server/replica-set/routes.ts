// The handlers of read replica sets. Each writes what is wanted, nudges, and answers; the pooler's wait until it holds.
import { Fault } from '#contract/fault.ts'
import { invalidRequest, type Problem } from '#contract/problem.ts'
import type { replica_set_endpoints } from '#contract/replica-set.ts'
import { accepted_set_statuses } from '#contract/replica-set-status.ts'
import { takeAddresses } from '../service/attachment.ts'
import { poolerChange, requirePooler } from '../service/pooler.ts'
import type { Handlers } from '../http/handler.ts'
import { getProvider, refusedBy } from '../regions.ts'
import { getService } from '../service/change.ts'
import type { ServiceContext } from '../service/context.ts'
import { shapeChange } from '../service/rules.ts'
import { membersView } from '../service/view.ts'
import { changeReplicaSet, type SetAt } from './change.ts'
import { createReplicaSet } from './create.ts'
import { replicaSetView } from '../service/replica-set-view.ts'
import { setDeletionChange, parseSetSize } from './rules.ts'
import { findReplicaSet } from '../service/replica-sets.ts'

export function replicaSetHandlers(context: ServiceContext): Pick<Handlers, keyof typeof replica_set_endpoints> {
  const { db, providers } = context
  return {
    listReplicaSets: async ({ params }) => {
      const service = await getService(db, params)
      const [sample, now] = [context.sampler.latest(service.service_id), new Date()]
      return service.replica_sets.map((row) => ({
        ...replicaSetView(row, service),
        ...membersView(sample, row.replica_set_id, now),
      }))
    },

    createReplicaSet: ({ params, body }) => createReplicaSet(context, params, body),

    deleteReplicaSet: async ({ params }) => {
      await changeReplicaSet(context, params, undefined, (row) => ({
        ...setDeletionChange(row, new Date()),
        event: 'deletion',
      }))
    },

    resizeReplicaSet: async ({ params, body }) => {
      const problems: Problem[] = []
      const size = parseSetSize(body, problems)
      const { region_code } = await getService(db, params)
      problems.push(...refusedBy(getProvider(providers, region_code).replica_set.refusal({ size })))
      if (problems.length > 0) throw invalidRequest(problems)
      const accepts = accepted_set_statuses.resize
      const words = `${size.cpu_millis} milli-cores and ${size.memory_gbs} GB`
      const event = `a resize to ${words}`
      await changeReplicaSet(context, params, accepts, (row) => ({ ...shapeChange(row, size), event }))
      return { message: `the replica set is being resized to ${words} a node` }
    },

    enableReplicaSetPooler: ({ params }) => switchPooler(context, params, true),

    disableReplicaSetPooler: ({ params }) => switchPooler(context, params, false),

    setReplicaSetEnvironment: async ({ params, body: { environment } }) => {
      const accepts = accepted_set_statuses.describe
      const event = `the environment ${environment}`
      await changeReplicaSet(context, params, accepts, () => ({ environment, event }))
      return { message: `the environment is ${environment}` }
    },
  }
}

async function switchPooler(context: ServiceContext, at: SetAt, pooler: boolean): Promise<{ message: string }> {
  const { db, settled } = context
  const accepts = accepted_set_statuses.pooler
  const { replica_set_id, generation } = await changeReplicaSet(context, at, accepts, async (row, parent, tx) => {
    if (pooler) requirePooler(context, parent)
    if (row.pooler === pooler) {
      throw new Fault('CONFLICT', `the pooler of the replica set is already ${pooler ? 'enabled' : 'disabled'}`)
    }
    if (pooler) await takeAddresses(context, tx, parent, { owner_id: row.replica_set_id, role: 'pooler' })
    return poolerChange(row, pooler)
  })
  await settled.wait(
    replica_set_id,
    generation,
    async () => (await findReplicaSet(db, replica_set_id))?.settled_generation,
  )
  return { message: `the pooler of the replica set is ${pooler ? 'enabled' : 'disabled'}` }
}
