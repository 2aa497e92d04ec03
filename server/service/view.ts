// A service as a caller sees it, with what it uses right now.
import type { Service } from '#contract/service.ts'
import { metricsView } from '../metric/rules.ts'
import type { ServiceContext } from './context.ts'
import { serviceView } from './rules.ts'
import type { ServiceRow } from './store.ts'

export type ServiceView = (row: ServiceRow) => Service

export function newServiceView({ providers, sampler }: Pick<ServiceContext, 'providers' | 'sampler'>): ServiceView {
  return (row) => {
    const now = new Date()
    const volume_type = providers.get(row.region_code)?.volume_type ?? 'unknown'
    return { ...serviceView(row, { now, volume_type }), ...metricsView(sampler.latest(row.service_id), row.state, now) }
  }
}
