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
    /** What this process has reported of a service's death that is not undone yet. Only keeps the report from being repeated. */
    deaths_told: Map<string, string>
  }
