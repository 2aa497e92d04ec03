// The host as observed when the provider was opened: what its parts are given. Only the files that wire them know it whole.
import type { LogRetention } from './log/retention.ts'
import type { LagReader } from './metric/lag-reader.ts'
import type { ServiceHost } from './service/service-host.ts'
import type { VpcHost } from './vpc/vpc.ts'

export type LocalHost = ServiceHost &
  VpcHost & {
    log_retention: LogRetention
    lag_reader: LagReader
    closeWatches(): void
  }
