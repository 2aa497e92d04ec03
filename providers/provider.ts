// The interface between what is wanted and the region that makes it. A region is a name for one provider.
//
// What every provider promises of `apply`:
// 1. It may be called at any time, any number of times, by any process, after any crash.
// 2. It moves reality only towards wanted: it reads what exists, then acts, and remembers nothing between passes.
// 3. It returns within seconds. Long work is started detached under a deterministic name, and later passes read how far it is.
// 4. It reports what it observed, never what it expects. `unknown` is an answer.
// 5. It is never called twice at once for one service or VPC: the caller owns the lease.
import type { Backup } from './backup.ts'
import type { Logs } from './log.ts'
import type { QueryAnswer, QueryRefusal, QuerySpec } from './query.ts'
import type { RegionFacts } from './region-facts.ts'

export type Endpoint = { host: string; port: number }

export type Size = { cpu_millis: number; memory_gbs: number } | 'shared'

export type WantedService = {
  service_id: string
  /** A region may keep the services of a project apart from those of others. */
  project_id: string
  generation: number
  deleted: boolean
  power: 'on' | 'off'
  size: Size
  /** Extensions that must exist in the service's database, such as `vector`. */
  extensions: readonly string[]
  /** SCRAM-SHA-256 verifier of the master role: the only form in which a password reaches a provider. */
  password_verifier: string
  /** Its own for ever. */
  home: Endpoint
  /** Where clients reach it now: in its VPC, or at home. */
  reach: Endpoint
  /** Standbys that can take over; absent: none. */
  ha?: WantedReplicas
  /** Where clients reach its connection pooler now; absent: there is none. */
  pooler?: Endpoint
  /** The VPC in which it is reached; absent: none. */
  vpc_id?: string
  /** It was settled before: where nothing of it is left, its data are lost, and no empty database may take their place. */
  made?: boolean
  /** Where the data come from the first time; absent: an empty database. Ignored once the service has its own data. */
  source?: ServiceSource
  /** SQL that is run, with the rights of the master role, in what is copied from its source, before any client reaches it. */
  mask?: string
  /** Its data give way to those of a moment, once for each id; absent: that was never requested. */
  exchange?: WantedExchange
  /** The copies that other regions make of it now: each is let in by a role of its own, and no other is. */
  copies?: readonly WantedCopy[]
  /** Snapshots that must exist, and snapshots that must be removed. A snapshot that is not listed here is removed too. */
  snapshots: readonly WantedSnapshot[]
}

export type WantedReplicas = {
  replica_count: number
  /** For so many of them every commit waits, so that it is never lost. */
  sync_replica_count: number
  /** How many planned changes of the primary the owner has ever requested; each is made once. */
  switchovers: number
}

/** Standbys that only read, behind one endpoint. They replicate from the primary of their service. */
export type WantedReplicaSet = {
  replica_set_id: string
  generation: number
  deleted: boolean
  nodes: number
  size: Size
  home: Endpoint
  reach: Endpoint
  pooler?: Endpoint
  vpc_id?: string
  /** As it is wanted now: the set stops, starts and moves with it. */
  service: WantedService
}

export type ObservedReplicaSet = {
  state: ObservedService['state']
  settled: boolean
  /** Something was tried and did not succeed; it is tried again. */
  failed?: boolean
  waiting_for?: string
  /** `waiting_for` is a normal step of work that ends by itself, such as a start or a copy; else it is a setback. */
  in_progress?: boolean | undefined
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

export type WantedExchange = {
  /** Unlike those of all requests before. */
  exchange_id: string
  /** Of itself, or of the parent of a fork. */
  source: ServiceSource
  /**
   * The snapshot as which the state before is kept; moments before the exchange can be restored as they were. Absent: with the data
   * go all snapshots, and every moment before.
   */
  kept_as?: string
}

/** One moment of one service. `origin`: where one of another region is read; `closed`: why it does not let the copy in yet. */
export type ServiceSource = { service_id: string; moment: Moment; origin?: Origin | { closed: string } }

/** A PostgreSQL of another region, as the copy reaches it. `major`: its version, which the copy has too. */
export type Origin = { endpoint: Endpoint; role: string; password: string; ca_pem: string; major: number }

/** password_verifier: of the role that may read all of it, and do nothing else. */
export type WantedCopy = { copy_id: string; password_verifier: string }

/**
 * `now`: with all that was committed before it was asked for, whether the service runs or not. A snapshot may still be on its way.
 * `at`: in UTC, to the microsecond, as PostgreSQL notes commits: `2026-03-01T12:00:00.123456Z`.
 */
export type Moment = 'now' | { snapshot_id: string } | { at: string }

/** A deleted snapshot stays, and is observed as complete, while another wanted one cannot do without it. */
export type WantedSnapshot = { snapshot_id: string; deleted: boolean }

export type ObservedSnapshot =
  | { snapshot_id: string; state: 'absent' | 'taking' }
  | { snapshot_id: string; state: 'complete'; taken_at: Date; size_bytes: number }

/** Each moment in between can be a source. `now`: up to the one at which it is asked for. */
export type Restorable = { from: Date; until: Date | 'now' }

/** What happened, for people to read later. No decision depends on it. */
export type ObservedEvent = { kind: string; message: string }

export type ObservedService = {
  /** `serving`: a TLS login at the advertised endpoint was carried as far as it goes without the password. */
  state: 'unknown' | 'absent' | 'stopped' | 'serving' | 'not_serving'
  /** Everything that was wanted holds. */
  settled: boolean
  /** Of the server that serves, such as `18.4`; absent: no server could be asked. */
  postgres_version?: string
  /** For people, when not settled: what is missing and, where a person can help, what to do. */
  waiting_for?: string
  /** `waiting_for` is a normal step of work that ends by itself, such as a start or a copy; else it is a setback. */
  in_progress?: boolean | undefined
  /** It can never become as wanted (a WAL segment of its source is missing, say): the caller stops trying. */
  failed?: boolean
  snapshots: readonly ObservedSnapshot[]
  /** Absent: this pass did not read it. */
  restorable?: Restorable | 'none'
  /** The id of an exchange that can never be made: its data stays as it is. */
  exchange_refused?: string
  /** Its archive takes too much of its disk quota: with a new snapshot the WAL before it can go. */
  archive_presses?: boolean
  /** When the next pass is due; absent: the caller's own pace. */
  look_again_seconds?: number
  events: readonly ObservedEvent[]
}

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
  /** When the postmaster that is the primary was started, in milliseconds since 1970. */
  running_since_ms?: number
  /** Which node is the primary. */
  primary_node?: number
  /** Of every standby that its primary knows right now. */
  replica_lags?: readonly ReplicaLag[]
}

/** replica_set_id absent: the standby can take over. `seconds`: age of the commit that it replayed last; 0 when it has all. */
export type ReplicaLag = {
  replica_set_id?: string
  node: number
  bytes: number
  seconds: number
  /** How it is connected, in PostgreSQL's word; absent: the region does not tell. */
  state?: string
  /** Whether its confirmation counts for commits that wait; absent: the region does not tell. */
  is_sync?: boolean
}

/** has_standbys: of its own or in replica sets; the primary is asked for their lag only then. */
export type MeasuredService = { service_id: string; has_standbys?: boolean }

/** For what an address is wanted. `cidr`: in a VPC with this range. */
export type AddressUse = { id: string; role: 'service' | 'pooler'; cidr?: string }

/** There are no more candidates. The message says what to do. */
export class NoAddress extends Error {
  override readonly name = 'NoAddress'
}

/** Why the region cannot make it, with what to do, and the member of the request that is refused. */
export type Refusal = { path: string; message: string }

/** One pass over one subject. A caller that has lost its lease aborts it, and no effect begins after that. */
export type Pass = { signal: AbortSignal }

/** `down`: it certainly does not serve right now. */
export type Listed = { id: string; down: boolean }

/** What a region does for each kind of subject. */
export type Subject<Wanted, Observed, Parts> = {
  /** Why the region can never make it, derived from its facts: answers at once, asks no program. */
  refusal(parts: Parts): Refusal | undefined
  /** Without a pass it is never aborted. */
  apply(wanted: Wanted, pass?: Pass): Promise<Observed>
  /** Everything of this kind that exists in the region, wanted or not. Cheap: called at start, before any pass, and every few seconds. */
  list(): Promise<readonly Listed[]>
}

/** The parts of a spec that a region may refuse; absent parts are not judged. */
export type ServiceParts = { size?: Size; extensions?: readonly string[]; pooler?: true; vpc?: true; copy_of?: Power }
/** Of the parent of a fork that is copied as it is now. */
type Power = WantedService['power']
export type ReplicaSetParts = { size?: Size; nodes?: number }
type VpcParts = { cidr: string }

export { staged_file_bytes_max, Untried } from './backup.ts'
export type { Offered, RegionFacts } from './region-facts.ts'
export type {
  Backup,
  DrillOptions,
  FetchedService,
  Laying,
  RestoredService,
  StagedSnapshot,
  StagedWal,
} from './backup.ts'

export type Kind = 'service' | 'replica set' | 'vpc'

export type Provider = {
  /** As last observed; never waits. */
  facts(): RegionFacts
  service: Subject<WantedService, ObservedService, ServiceParts> & {
    /** As a role that is made for it and has at most the rights of the master role: nothing that the statement meets runs with more. */
    query(service_id: string, spec: QuerySpec): Promise<QueryAnswer | QueryRefusal>
  }
  replica_set: Subject<WantedReplicaSet, ObservedReplicaSet, ReplicaSetParts>
  /**
   * The network of a VPC and its links to its peers. Both sides of a peering must be applied when it changes. A VPC that is listed
   * and not wanted is removed by being applied as deleted.
   */
  vpc: Subject<WantedVpc, ObservedVpc, VpcParts>
  /** Candidate addresses, best first, in the same order for the same id. Throws NoAddress at the end. Waits for no other host. */
  addresses(of: AddressUse): Iterable<Endpoint> | AsyncIterable<Endpoint>
  /**
   * A service or a replica set as it was last wanted of this provider: for a crash while the metadata store is unreachable. Like
   * `apply`, but it may be called without a lease; undefined where this provider knows no such id.
   */
  heal(id: string): Promise<ObservedService | ObservedReplicaSet | undefined>
  logs: Logs
  /** What the running services use now. Cheap enough for every few seconds; rates need two calls. */
  metrics(services: readonly MeasuredService[]): Promise<ReadonlyMap<string, ServiceMetrics>>
  /** Calls back when a subject may have changed by itself, such as by a crash. */
  watch(onNews: (kind: Kind, id: string) => void): void
  /** Absent: nothing of it needs a copy elsewhere. */
  backup?: Backup
  /** Stops watching and releases what this process holds. Databases go on running. */
  close(): Promise<void>
}
