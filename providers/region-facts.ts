// What a region can do, and what it cannot and why: see `facts` in provider.ts.

/** Whether a region offers it; if not, why, with what to do. */
export type Offered = { offered: true } | { offered: false; reason: string }

/** What a region can do, as its provider last observed it. */
export type RegionFacts = {
  /** Two servers may serve one region when they read the same identity. */
  identity: string
  /** The name of its provider, such as `local`. */
  provider: string
  /** Newest first, such as `18.4`. */
  postgres_versions: readonly string[]
  volume_type: string
  /** Forks and snapshots share blocks with their source. */
  copy_on_write: boolean
  /** The certificate by which clients verify its servers; absent: it has none. */
  ca_pem?: string
  /** What a service may take of the disk with data, WAL and archive; 0: as much as there is. */
  disk_gbs_per_memory_gb: number
  /** What the operator should know when a server starts, a sentence each that says what to do; absent: nothing. */
  warnings?: readonly string[]
  /** A VPC outside these ranges gets no route on the host; absent: no VPC needs one. */
  vpc_ranges?: readonly string[]
  pooler: Offered
  /** Of several nodes behind one address. */
  replica_sets: Offered
  vpcs: Offered
  /** And with them forks of a snapshot or of a time; a fork of now needs none. */
  snapshots: Offered
  /** Whether it makes copies of running services of other regions. */
  forks_in: Offered
  /** Whether other regions can copy its running services; they reach them at `copy_host`. */
  forks_out: Offered
  copy_host?: string
  /** Exchanges of the data of a service, and masked forks. */
  rewinds: Offered
  /** Restores that are tried out; offered where the region has a `backup`. */
  drills: Offered
  logs: Offered
  /** Whether those have every login, every entry of a burst, and all from before a stop. */
  complete_logs: Offered
  /** Of processor and memory, kept by the system. */
  limits: Offered
  /** Statements through the API. */
  queries: Offered
  /** Whether a session that asks to read only is held to it, or refused. */
  read_only_sessions: Offered
}
