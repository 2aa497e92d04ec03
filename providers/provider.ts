// The whole interface between what is wanted and how it is made true. A region is a name for one provider.
//
// What every provider promises of `apply`:
// 1. It may be called at any time, any number of times, by any process, after any crash.
// 2. It moves reality only towards wanted, by looking first; it never remembers where it was.
// 3. It returns within seconds. Long work is started detached under a deterministic name and looked at again.
// 4. It reports what it saw, never what it hopes. `unknown` is an answer.
// 5. It is never called twice at once for one service or VPC: the caller holds the lease.

export type Endpoint = { host: string; port: number }

export type Size = { cpu_millis: number; memory_gbs: number } | 'shared'

export type WantedService = {
  service_id: string
  generation: number
  deleted: boolean
  power: 'on' | 'off'
  size: Size
  /** Extensions that must exist in the service's database, such as `vector`. */
  extensions: readonly string[]
  /** SCRAM-SHA-256 verifier of the master role: the only form in which a password reaches a provider. */
  password_verifier: string
  /** Its own for ever, and where it is reached unless it is in a VPC. */
  endpoint: Endpoint
  /** Standbys that can take over; absent: none. */
  ha?: WantedReplicas
  /** Where the connection pooler listens; absent: there is none. */
  pooler?: Endpoint
  /** The VPC in which it is reached, instead of at its own endpoints; absent: none. */
  network?: WantedNetwork
  /** Where the data come from the first time; absent: an empty database. Ignored once the service has its own data. */
  source?: ServiceSource
  /** Snapshots that must exist, or must be gone. One that is in neither list is removed. */
  snapshots: readonly WantedSnapshot[]
}

export type WantedReplicas = {
  replica_count: number
  /** For so many of them every commit waits, so that it is never lost. */
  sync_replica_count: number
  /** How many planned changes of the primary were ever asked for; each is made once. */
  switchovers: number
}

/** Addresses of the VPC's own range. Everything in a VPC listens on port 5432. */
export type WantedNetwork = { vpc_id: string; address: string; pooler_address?: string }

/** Standbys that only read, behind one endpoint. They stand on the data of their service's primary. */
export type WantedReplicaSet = {
  replica_set_id: string
  generation: number
  deleted: boolean
  nodes: number
  size: Size
  endpoint: Endpoint
  pooler?: Endpoint
  network?: WantedNetwork
  /** As it is wanted now: the set stops, starts and moves with it. */
  service: WantedService
}

export type ObservedReplicaSet = {
  state: ObservedService['state']
  settled: boolean
  /** Something was tried and did not succeed; it is tried again. */
  failed?: boolean
  waiting_for?: string
  look_again_seconds?: number
  events: readonly ObservedEvent[]
}

/** A private network of its own. `peers`: the VPCs with which it exchanges traffic, and no others. */
export type WantedVpc = { vpc_id: string; deleted: boolean; cidr: string; peers: readonly WantedPeer[] }

export type WantedPeer = { peering_id: string; vpc_id: string; cidr: string }

export type ObservedVpc = {
  settled: boolean
  waiting_for?: string
  look_again_seconds?: number
  /** The peerings over which traffic can flow now, with the name by which the host knows each. */
  peers: readonly { peering_id: string; provisioned_id: string }[]
}

/** One moment of one service: a snapshot of it, and from there its WAL up to target_time, when that is given. */
export type ServiceSource = {
  service_id: string
  snapshot_id: string
  /** In UTC, to the microsecond, as PostgreSQL notes commits: `2026-03-01T12:00:00.123456Z`. */
  target_time?: string
  /** Of this moment: the service itself while it runs, else the snapshot, which is for this one fork and may be used up. */
  private?: boolean
}

/** `private`: for one fork, which copies a service that runs by itself. So it is only taken of one that stands still. */
export type WantedSnapshot = { snapshot_id: string; deleted: boolean; private?: boolean }

/** `left_behind`: a failover has led away from what it holds, so no later moment can be reached from it. */
export type ObservedSnapshot =
  | { snapshot_id: string; state: 'absent' | 'taking' }
  | { snapshot_id: string; state: 'complete'; taken_at: Date; size_bytes: number; left_behind?: boolean }

/** Something that happened and that people want to read about later. It decides nothing. */
export type ObservedEvent = { kind: string; message: string }

export type ObservedService = {
  /** `serving`: a TLS login at the advertised endpoint was carried as far as it goes without the password. */
  state: 'unknown' | 'absent' | 'stopped' | 'serving' | 'not_serving'
  /** Everything that was wanted holds. */
  settled: boolean
  /** Of the server that serves, such as `18.4`; absent: none was asked. */
  postgres_version?: string
  /** A sentence for people: what the world lacks, when not settled. Says what to do about it where somebody can. */
  waiting_for?: string
  /** It can never be made as wanted (a WAL segment of its source is missing, say): trying again is of no use. */
  failed?: boolean
  snapshots: readonly ObservedSnapshot[]
  /** Its archive takes too much of its disk quota: with a new snapshot the WAL before it can go. */
  archive_presses?: boolean
  /** When to look again although nobody asks; absent: the caller's own pace. */
  look_again_seconds?: number
  events: readonly ObservedEvent[]
}

export type LogEntry = {
  /** RFC 3339. */
  timestamp: string
  severity: string
  /** Without passwords, and bounded in length. */
  message: string
}

export type LogQuery = {
  /** By its number; absent: the cursor's node, or the current primary. */
  node?: number | undefined
  /** From an earlier page of the same service. */
  cursor?: string | undefined
  /** How many of the newest entries to pass over. */
  skip: number
  limit: number
  /** All of these occur in the message, in whatever case. */
  search: readonly string[]
  /** One of these, in PostgreSQL's spelling; empty: any. */
  severities: readonly string[]
  /** Both exclusive. */
  since_ms?: number | undefined
  until_ms?: number | undefined
}

/** Newest first. `cursor` is there when older entries may follow. */
export type LogPage = { entries: readonly LogEntry[]; cursor?: string }

/** What is wrong with a query that names a place. */
export type LogRefusal = { refused: 'node' | 'cursor' }

/** By the names of the series. What is not known (yet) is absent. */
export type ServiceMetrics = {
  cpu_usage_millicores?: number
  memory_usage_bytes?: number
  /** Of data and WAL. */
  disk_usage_bytes?: number
  disk_archive_bytes?: number
  disk_quota_bytes?: number
  connections?: number
  transactions_per_second?: number
  cache_hit_ratio?: number
  /** How far the standby that is furthest behind has yet to replay; absent: it has none. */
  replication_lag_bytes?: number
  /** Of every standby that its primary knows right now. */
  replica_lags?: readonly ReplicaLag[]
}

/** replica_set_id absent: it can take over. `seconds`: how old the commit was that it replayed last; 0 when it has all. */
export type ReplicaLag = { replica_set_id?: string; node: number; bytes: number; seconds: number }

/** has_standbys: of its own or in replica sets; only then it is asked how far those are behind. */
export type MeasuredService = { service_id: string; has_standbys?: boolean }

/** For what an address is wanted. `cidr`: in a VPC with this range. */
export type AddressUse = { id: string; role: 'service' | 'pooler'; cidr?: string }

/** There are no more candidates. The message says what to do. */
export class NoAddress extends Error {
  override readonly name = 'NoAddress'
}

/** Why something cannot be had here: a sentence that says what to do, and the member of the request that asks for it. */
export type Refusal = { path: string; message: string }

/** One pass over one subject. A caller that has lost its lease aborts it, and no effect begins after that. */
export type Pass = { signal: AbortSignal }

/** `down`: it certainly does not serve right now. */
export type Listed = { id: string; down: boolean }

/** What a region does for each kind of thing that can be wanted of it. */
export type Subject<Wanted, Observed, Parts> = {
  /** Why the region can never make such a thing, told from its facts alone: at once, without asking anything. */
  refusal(parts: Parts): Refusal | undefined
  /** Without a pass it is never cut off. */
  apply(wanted: Wanted, pass?: Pass): Promise<Observed>
  /** Everything of this kind that exists there, wanted or not. Cheap: asked at a start, before any pass, and every few seconds. */
  list(): Promise<readonly Listed[]>
}

/** The parts of what is wanted that a region may have to refuse; those that are absent are not judged. */
export type ServiceParts = { size?: Size; extensions?: readonly string[]; pooler?: true; vpc?: true }
export type ReplicaSetParts = { size?: Size; nodes?: number }
export type VpcParts = { cidr: string }

/** Whether a region has it, or why not: a sentence that says what to do. */
export type Offered = { offered: true } | { offered: false; reason: string }

/** What a region is able to do, as its provider last saw it. */
export type RegionFacts = {
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
  /** Of processor and memory, kept by the system. */
  limits: Offered
}

export type Kind = 'service' | 'replica set' | 'vpc'

export type Provider = {
  /** Two servers may serve one region when they see the same. */
  identity: string
  /** As last seen; never waits. */
  facts(): RegionFacts
  service: Subject<WantedService, ObservedService, ServiceParts>
  replica_set: Subject<WantedReplicaSet, ObservedReplicaSet, ReplicaSetParts>
  /**
   * The network of a VPC and its links to its peers. Both sides of a peering must be applied when it changes. A VPC that is listed
   * and not wanted is removed by being applied as deleted.
   */
  vpc: Subject<WantedVpc, ObservedVpc, VpcParts>
  /** Where it could be reached, best first, and in the same order for one id. At the end NoAddress is thrown. Never waits. */
  addresses(of: AddressUse): Iterable<Endpoint>
  /**
   * A service or a replica set as it was last wanted of this provider: for a death while what is wanted now cannot be asked for. Like
   * `apply`, but it may be called without a lease; undefined where nothing is known of it.
   */
  heal(id: string): Promise<ObservedService | ObservedReplicaSet | undefined>
  logs(service_id: string, query: LogQuery): Promise<LogPage | LogRefusal>
  /** What those of the services that run use right now. Cheap enough for every few seconds; rates need two calls. */
  metrics(services: readonly MeasuredService[]): Promise<ReadonlyMap<string, ServiceMetrics>>
  /** Calls back when something may have changed by itself, such as by a crash. */
  watch(onNews: (kind: Kind, id: string) => void): void
  /** What keeps the region from offering all that it could: sentences that say what to do. */
  doctor(): Promise<readonly string[]>
  /** Stops looking and releases what this process holds. Databases go on running. */
  close(): Promise<void>
}
