// What the nodes of a service are given of this host.
import type { LogWatch } from '../log/log-watch.ts'
import type { NetworkHost } from '../network/service-network.ts'
import type { PostgresHost } from '../postgres/postgres-host.ts'
import type { Projects } from '../quota/project.ts'

export type HaHost = PostgresHost &
  NetworkHost & {
    log_watch: LogWatch
    /** Where the kernel itself enforces quotas. */
    projects: Projects | undefined
  }
