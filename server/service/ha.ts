// High availability: how many replicas a service has, and a planned change of its primary.
import { Fault } from '#contract/fault.ts'
import type { ha_endpoints } from '#contract/ha.ts'
import { invalidRequest } from '#contract/problem.ts'
import type { Handlers } from '../http/handler.ts'
import { changeService } from './change.ts'
import type { ServiceContext } from './context.ts'
import { replicaProblem, type Replicas, shapeChange } from './rules.ts'
import type { ServiceView } from './view.ts'

export function haHandlers(context: ServiceContext, viewOf: ServiceView): Pick<Handlers, keyof typeof ha_endpoints> {
  return {
    setHA: async ({ params, body }) => {
      if (body.replica_count === undefined && body.sync_replica_count === undefined) {
        throw invalidRequest([{ path: '/replica_count', message: 'is required, unless /sync_replica_count is there' }])
      }
      const row = await changeService(context, params, (row) => {
        const counts = countsOf(body, row)
        const problem = replicaProblem(counts)
        if (problem !== undefined) throw invalidRequest([problem])
        const event = `replicas: ${counts.replica_count}, of them synchronous: ${counts.sync_replica_count}`
        return { ...shapeChange(row, counts), event }
      })
      return viewOf(row)
    },

    switchover: async ({ params }) => {
      const row = await changeService(context, params, (row) => {
        if (row.replica_count === 0) {
          throw new Fault('WRONG_STATE', 'the service has no replica that could take over; add one with setHA')
        }
        return {
          ...shapeChange(row, { switchovers: row.switchovers + 1 }),
          event: 'a planned change of the primary',
        }
      })
      return viewOf(row)
    },
  }
}

/** A count that is left out stays, or follows the other one as far as it must. Pure. */
function countsOf(requested: Partial<Replicas>, now: Replicas): Replicas {
  const { replica_count = Math.max(now.replica_count, requested.sync_replica_count ?? 0) } = requested
  const { sync_replica_count = Math.min(now.sync_replica_count, replica_count) } = requested
  return { replica_count, sync_replica_count }
}
