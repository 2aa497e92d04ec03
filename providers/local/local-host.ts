// What the files of this provider share: the host as it was found when the provider was opened, and the little that this
// process remembers to save itself work. Losing that memory changes nothing but the cost of the next look.
import type { ArchiveWatch } from './wal/archive-watch.ts'
import type { BalanceWatch } from './replica-set/balance-watch.ts'
import type { Authority } from './certificate.ts'
import type { Effect } from './host/effect.ts'
import type { PostgresInstallation } from './postgres/installation.ts'
import type { Spares } from './postgres/spare.ts'
import type { Jobs } from './host/jobs.ts'
import type { Limits } from './host/limits.ts'
import type { LagReader } from './metric/lag-reader.ts'
import type { LogWatch } from './log/log-watch.ts'
import type { LogRetention } from './log/retention.ts'
import type { NetworksHolder } from './vpc/holder.ts'
import type { Projects } from './quota/project.ts'
import type { QuotaWatch } from './quota/watch.ts'
import type { RoomWatch } from './room-watch.ts'
import type { VpcRanges } from './vpc/ranges.ts'
import type { VpcWatch } from './vpc/watch.ts'
import type { Watch } from './watch.ts'

export type LocalHost = {
  directory: string
  /** In the names of what all installations of a host share, such as network namespaces. */
  installation_id: string
  as_root: boolean
  control_plane_user: string
  memory_mb: number
  effect: Effect
  authority: Authority
  limits: Limits
  installations: readonly PostgresInstallation[]
  template(installation: PostgresInstallation): Promise<string>
  spares: Spares
  /** Sees to it that a copy of the template will lie ready for the next service, behind the caller's back. */
  beginSpare(): void
  log_retention: LogRetention
  log_watch: LogWatch
  watch: Watch
  archive_watch: ArchiveWatch
  balance_watch: BalanceWatch
  room_watch: RoomWatch
  /** GB of disk for each GB of memory; 0: there are no quotas. */
  disk_quota: number
  quota_watch: QuotaWatch
  /** Where the kernel itself enforces quotas. */
  projects: Projects | undefined
  lag_reader: LagReader
  vpc_watch: VpcWatch
  networks_holder: NetworksHolder
  /** Which ranges they may have. */
  vpc_ranges: VpcRanges
  /** Why there are no networks here. */
  networkRefusal(): Promise<string | undefined>
  /** What this process itself saw hold: service id → `<pid of its postmaster>/<generation>`, and when. Only saves a connection. */
  roles_seen: Map<
    string,
    { what: string; at_ms: number; lacks?: string | undefined; postgres_version?: string | undefined }
  >
  /** Services whose death this process has reported and not yet undone. Only keeps the report from being repeated. */
  deaths_told: Set<string>
  /** Services whose archive this process has reported to be stalled. Only saves a listing. */
  stalls_told: Set<string>
  /** The WAL file up to which this process itself pruned a service's archive. Only saves a listing. */
  pruned_seen: Map<string, string>
  jobs: Jobs
}
