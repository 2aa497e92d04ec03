// What a service is given of this host, and the little that this process remembers to save itself work. Losing that memory
// changes nothing but the cost of the next pass.
import type { ReplicaSetHost } from '../replica-set/replica-set-host.ts'
import type { ArchiveWatch } from '../wal/archive-watch.ts'

export type ServiceHost = ReplicaSetHost & Remembered & { archive_watch: ArchiveWatch }

/** By the id of a service. */
export type Remembered = {
  /** What this process itself observed to hold: `<pid of its postmaster>/<generation>`, and when. Only saves a connection. */
  roles_observed: Map<
    string,
    { what: string; at_ms: number; lacks?: string | undefined; postgres_version?: string | undefined }
  >
  /** Services whose archive this process has reported to be stalled. Only saves a listing. */
  stalls_told: Set<string>
  /** The WAL file up to which this process itself pruned a service's archive. Only saves a listing. */
  pruned_up_to: Map<string, string>
}
