// A service as a caller sees it, with what it uses right now.
import type { Service } from '#contract/service.ts'
import type { Size } from '#contract/size.ts'
import { diskGbsOf } from '#providers/postgres/size.ts'
import type { Provider } from '#providers/provider.ts'
import { metricsView } from '../metric/rules.ts'
import type { ServiceContext } from './context.ts'
import { serviceView, sizeOf, type Volume } from './rules.ts'
import type { ServiceRow } from './store.ts'

export function volumeOf(provider: Provider | undefined, size: Size): Volume {
  if (provider === undefined) return { volume_type: 'unknown' }
  const { volume_type, disk_gbs_per_memory_gb } = provider.facts()
  return { volume_type, disk_gbs: diskGbsOf(size, disk_gbs_per_memory_gb) }
}

export type ServiceView = (row: ServiceRow) => Service

export function newServiceView({ providers, sampler }: Pick<ServiceContext, 'providers' | 'sampler'>): ServiceView {
  return (row) => {
    const now = new Date()
    const volume = volumeOf(providers.get(row.region_code), sizeOf(row))
    return { ...serviceView(row, { now, ...volume }), ...metricsView(sampler.latest(row.service_id), row.state, now) }
  }
}
