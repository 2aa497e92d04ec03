// The history of a service's metrics: which series there are, and one of them in buckets.
import { type metric_endpoints, metric_names } from '#contract/metric.ts'
import { checked } from '#contract/problem.ts'
import type { Db } from '../store/db.ts'
import type { Handlers } from '../http/handler.ts'
import { getService } from '../service/change.ts'
import { bucketsOf, parseSeriesInput, roleOf } from './rules.ts'
import { listPoints } from './store.ts'

export function metricHandlers({ db }: { db: Db }): Pick<Handlers, keyof typeof metric_endpoints> {
  return {
    listMetricSeries: async ({ params }) => {
      await getService(db, params)
      return metric_names
    },

    getMetricSeries: async ({ params, body }) => {
      await getService(db, params)
      const plan = checked((problems) => parseSeriesInput(body, Date.now(), problems))
      const labels = { role: roleOf(body.name) }
      if (body.filters?.some(({ key, value }) => labels[key] !== value)) return []
      const stored = await listPoints(db, params.service_id, body.name, plan)
      const points = stored.map(({ time, value }) => ({ time_ms: time.getTime(), value }))
      return [{ labels, data: bucketsOf(plan, points) }]
    },
  }
}
