// The history of a service's metrics: which series there are, and one of them in buckets.
import { notFound, unknown_service } from '#contract/fault.ts'
import { type metric_endpoints, metric_names, metric_series } from '#contract/metric.ts'
import { invalidRequest } from '#contract/problem.ts'
import type { Db } from '../db.ts'
import type { Handlers } from '../handler.ts'
import { findServiceOfProject } from '../service/store.ts'
import { bucketsOf, parseSeriesInput } from './rules.ts'
import { listPoints } from './store.ts'

/** A service has one node, and that is its primary. */
const labels = { role: 'primary' }

export function metricHandlers({ db }: { db: Db }): Pick<Handlers, keyof typeof metric_endpoints> {
  return {
    listMetricSeries: async ({ params }) => {
      await requireService(db, params)
      return metric_names.map((name) => ({ name, ...metric_series[name], labels: Object.keys(labels) }))
    },

    getMetricSeries: async ({ params, body }) => {
      await requireService(db, params)
      const problems: string[] = []
      const plan = parseSeriesInput(body, Date.now(), problems)
      if (problems.length > 0) throw invalidRequest(problems)
      if (body.filters?.role !== undefined && body.filters.role !== labels.role) return []
      const stored = await listPoints(db, params.service_id, body.name, plan)
      const points = stored.map(({ time, value }) => ({ time_ms: time.getTime(), value }))
      return [{ labels, data: bucketsOf(plan, points) }]
    },
  }
}

async function requireService(db: Db, { project_id, service_id }: { project_id: string; service_id: string }) {
  if ((await findServiceOfProject(db, project_id, service_id)) === undefined) throw notFound(unknown_service)
}
