// The whole interface between what is wanted and how it is made true. A region is a name for one provider.
//
// What every provider promises of `apply…`:
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
  happenings: readonly Happening[]
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
export type Happening = { kind: string; message: string }

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
  happenings: readonly Happening[]
}

/** What somebody is about to ask for; a provider refuses what it can never make. */
export type Offer = {
  size: Size
  extensions: readonly string[]
  /** With a connection pooler. */
  pooler?: true
  /** With one endpoint for several nodes. */
  balancer?: true
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
export type MeasuredService = { service_id: string; endpoint: Endpoint; has_standbys?: boolean }

/** All are in use. The message says what to do. */
export class NoEndpoint extends Error {
  override readonly name = 'NoEndpoint'
}

export type Provider = {
  region_code: string
  volume_type: string
  /** What a service of this size may take of the disk with data, WAL and archive; undefined: as much as there is. */
  diskGbsOf(size: Size): number | undefined
  /** An endpoint for a new service: none of the taken ports, and nobody is listening there now. Throws NoEndpoint. */
  newEndpoint(taken_ports: ReadonlySet<number>): Promise<Endpoint>
  /** Why this region cannot make such a service, as a sentence that says what to do; undefined when it can. */
  refusalOf(offer: Offer): Promise<string | undefined>
  applyService(wanted: WantedService): Promise<ObservedService>
  /**
   * A service or a replica set as it was last wanted of this provider: for a death while what is wanted now cannot be asked for. Like
   * `applyService`, but it may be called without a lease; undefined where nothing is known of it.
   */
  heal(id: string): Promise<ObservedService | ObservedReplicaSet | undefined>
  /**
   * Those of the services that certainly do not serve right now; the others are watched from now on. Cheap: asked of all at a start,
   * before any is looked at, and every few seconds.
   */
  findDown(service_ids: readonly string[]): Promise<readonly string[]>
  applyReplicaSet(wanted: WantedReplicaSet): Promise<ObservedReplicaSet>
  logs(service_id: string, query: LogQuery): Promise<LogPage | LogRefusal>
  /** What those of the services that run use right now. Cheap enough for every few seconds; rates need two calls. */
  metrics(services: readonly MeasuredService[]): Promise<ReadonlyMap<string, ServiceMetrics>>
  /** Calls back when a service that was serving may have changed by itself, such as by a crash. */
  watch(onChange: (service_id: string) => void): void
  /** Why no service of this region can be in a VPC, as a sentence that says what to do; undefined when it can. */
  networkRefusal(): Promise<string | undefined>
  /** Why this region can have no VPC of this range: it is not the operator's, or the host uses it; undefined when it can. */
  vpcRefusal(cidr: string): Promise<string | undefined>
  /** The network of a VPC and its links to its peers. Both sides of a peering must be applied when it changes. */
  applyVpc(wanted: WantedVpc): Promise<ObservedVpc>
  /** The VPCs of which the region has anything, wanted or not. One that nobody wants goes by being applied as deleted. */
  listVpcs(): Promise<readonly string[]>
  /** Calls back when the network of a VPC has vanished by itself, such as by somebody's hand. */
  watchVpcs(onChange: (vpc_id: string) => void): void
  /** Stops looking and releases what this process holds. Databases go on running. */
  close(): Promise<void>
}
