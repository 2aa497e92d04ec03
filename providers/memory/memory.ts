// The provider that runs no program: what is wanted of it is held in maps, at once or after a given delay, as long as the process
// lives. For tests of everything above a provider, and to try the API without PostgreSQL. It keeps the promises of
// providers/provider.ts (test/provider/promises.ts runs on it) but one: no server listens at its addresses.
import type { LogEntry, LogPage, LogQuery, LogRefusal, LogTail, LogTailQuery, PlacedEntry } from '../log.ts'
import {
  NoAddress,
  type Endpoint,
  type Kind,
  type Moment,
  type ObservedService,
  type ObservedSnapshot,
  type Provider,
  type RegionFacts,
  type ServiceSource,
  type WantedReplicaSet,
  type WantedService,
  type WantedVpc,
} from '../provider.ts'
import { addressesIn } from '../vpc-address.ts'
import { newMatch } from '../postgres/log-match.ts'
import { newThings, type Thing, type Things, waiting } from './thing.ts'

export type MemoryOptions = {
  identity: string
  host: string
  ports: { first: number; last: number }
  /** How long each change takes; by default none. */
  delay_ms?: number
}

export type MemoryProvider = Provider & {
  /** It does not serve until it is applied again; the watchers are called. */
  crash(id: string): void
}

type Logged = { log: LogEntry[] }
type Service = Thing & Logged & { wanted: WantedService; snapshots: Map<string, Taken>; exchange_id?: string }
type ReplicaSet = Thing & Logged & { wanted: WantedReplicaSet }
type Taken = { taken_at: Date; size_bytes: number }

const postgres_version = '18.4'
const no_database = 'this region has no databases that could be asked; use a region with another provider'
const facts: Omit<RegionFacts, 'identity'> = {
  provider: 'memory',
  postgres_versions: [postgres_version],
  volume_type: 'memory',
  copy_on_write: true,
  disk_gbs_per_memory_gb: 0,
  pooler: { offered: true },
  replica_sets: { offered: true },
  vpcs: { offered: true },
  snapshots: { offered: true },
  forks_in: { offered: true },
  forks_out: { offered: true },
  copy_host: 'memory',
  logs: { offered: true },
  complete_logs: { offered: true },
  limits: { offered: false, reason: 'nothing runs here that could be limited' },
  rewinds: { offered: true },
  queries: { offered: false, reason: no_database },
  read_only_sessions: { offered: false, reason: no_database },
}
const snapshot_bytes = 40_000_000
const idle_metrics = { cpu_usage_millicores: 1, memory_usage_bytes: 50_000_000, disk_usage_bytes: snapshot_bytes }

export function openMemoryProvider({ identity, host, ports, delay_ms = 0 }: MemoryOptions): MemoryProvider {
  const services = newThings<Service>(delay_ms)
  const sets = newThings<ReplicaSet>(delay_ms)
  const service = serviceSubject(services)
  const replica_set = replicaSetSubject(sets, services)
  const watchers: ((kind: Kind, id: string) => void)[] = []
  const crash = (id: string) => {
    const thing = services.find(id) ?? sets.find(id)
    if (thing) thing.state = 'not_serving'
    for (const onNews of watchers) onNews(sets.find(id) ? 'replica set' : 'service', id)
  }
  return {
    facts: () => ({ ...facts, identity }),
    service,
    replica_set,
    vpc: vpcSubject(new Map()),
    addresses: ({ cidr }) => (cidr === undefined ? portsOf(host, ports) : addressesIn(cidr)),
    backup: {
      keys: [],
      stageWal: async () => [],
      listSnapshots: async () => [],
      noteChecksums: async () => undefined,
      drill: async () => undefined,
      leadsOn: async () => true,
      layReady: async () => undefined,
      restore: async () => undefined,
    },
    heal: async (id) => {
      const [one, other] = [services.find(id), sets.find(id)]
      return one ? service.apply(one.wanted) : other && replica_set.apply(other.wanted)
    },
    logs: {
      page: async (id, query) => pageOf(services.find(id) ?? sets.find(id), query),
      tail: async (id, query) => tailOf(services.find(id) ?? sets.find(id), query),
    },
    metrics: async (measured) => {
      const serving = measured.map(({ service_id }) => [service_id, services.find(service_id)] as const)
      return new Map(
        serving.flatMap(([service_id, thing]) =>
          thing?.state === 'serving'
            ? [[service_id, { ...idle_metrics, running_since_ms: thing.serving_since_ms }]]
            : [],
        ),
      )
    },
    watch: (onNews) => void watchers.push(onNews),
    doctor: async () => [],
    crash,
    close: async () => void (watchers.length = 0),
  }
}

function serviceSubject(services: Things<Service>): Provider['service'] {
  return {
    refusal: () => undefined,
    list: async () => services.list(),
    query: async () => ({ unavailable: no_database }),
    apply: async (wanted, pass): Promise<ObservedService> => {
      pass?.signal.throwIfAborted()
      const { service_id, deleted, source } = wanted
      if (deleted && !services.remove(service_id))
        return { ...waiting('not_serving', 'it is being removed'), snapshots: [] }
      if (deleted) return { state: 'absent', settled: true, snapshots: wanted.snapshots.map(absent), events: [] }
      if (source && !services.find(service_id) && !canCopy(services, source))
        return { ...waiting('absent', `its parent ${source.service_id} does not have that moment yet`), snapshots: [] }
      const thing = services.ensure(service_id, wanted, { snapshots: new Map(), log: [] })
      const observed = services.observe(thing, wanted.power)
      if (!observed.settled) return { ...observed, postgres_version, snapshots: [] }
      note(thing, `${observed.state} at generation ${wanted.generation}`)
      return { ...observed, postgres_version, ...exchange(thing, services), ...copiesOf(thing) }
    },
  }
}

/** A service of another region is not in these maps. */
function canCopy(services: Things<Service>, { service_id, moment, origin }: ServiceSource): boolean {
  if (origin !== undefined) return !('closed' in origin)
  return hasMoment(services.find(service_id), moment)
}

function replicaSetSubject(sets: Things<ReplicaSet>, services: Things<Service>): Provider['replica_set'] {
  return {
    refusal: () => undefined,
    list: async () => sets.list(),
    apply: async (wanted, pass) => {
      pass?.signal.throwIfAborted()
      const { replica_set_id, service } = wanted
      const deleted = wanted.deleted || service.deleted
      if (deleted && !sets.remove(replica_set_id)) return waiting('not_serving', 'it is being removed')
      if (deleted) return { state: 'absent', settled: true, events: [] }
      if (!services.find(service.service_id)) return waiting('absent', 'its service is not there')
      const thing = sets.ensure(replica_set_id, wanted, { log: [] })
      const observed = sets.observe(thing, service.power)
      if (observed.settled) note(thing, `${observed.state} at generation ${wanted.generation}`)
      return observed
    },
  }
}

function vpcSubject(vpcs: Map<string, WantedVpc>): Provider['vpc'] {
  return {
    refusal: () => undefined,
    list: async () => [...vpcs.keys()].map((id) => ({ id, down: false })),
    apply: async (wanted, pass) => {
      pass?.signal.throwIfAborted()
      if (wanted.deleted) vpcs.delete(wanted.vpc_id)
      else vpcs.set(wanted.vpc_id, wanted)
      const linked = wanted.deleted ? [] : wanted.peers.filter(({ vpc_id }) => vpcs.has(vpc_id))
      const peers = linked.map(({ peering_id }) => ({ peering_id, provisioned_id: `memory-${peering_id}` }))
      if (wanted.deleted || peers.length === wanted.peers.length) return { settled: true, peers }
      return { settled: false, waiting_for: 'a peer is not there yet', look_again_seconds: 0.1, peers }
    },
  }
}

function* portsOf(host: string, { first, last }: MemoryOptions['ports']): Generator<Endpoint> {
  for (let port = first; port <= last; port += 1) yield { host, port }
  throw new NoAddress(`no port is free from ${first} to ${last}; delete services, or widen the range`)
}

const absent = ({ snapshot_id }: { snapshot_id: string }): ObservedSnapshot => ({ snapshot_id, state: 'absent' })

function hasMoment(parent: Service | undefined, moment: Moment): boolean {
  if (parent === undefined || moment === 'now') return parent !== undefined
  if ('snapshot_id' in moment) return parent.snapshots.has(moment.snapshot_id)
  return [...parent.snapshots.values()].some(({ taken_at }) => taken_at <= new Date(moment.at))
}

/** Once for each id. */
function exchange(thing: Service, services: Things<Service>): Pick<ObservedService, 'events' | 'exchange_refused'> {
  const { exchange: wanted } = thing.wanted
  if (wanted === undefined || wanted.exchange_id === thing.exchange_id) return { events: [] }
  const { service_id, moment } = wanted.source
  if (!hasMoment(services.find(service_id), moment)) {
    const message = 'its data stays as it is: no snapshot leads to that moment any more'
    return { exchange_refused: wanted.exchange_id, events: [{ kind: 'setback', message }] }
  }
  thing.exchange_id = wanted.exchange_id
  if (wanted.kept_as === undefined) thing.snapshots.clear()
  return { events: [{ kind: 'rewound', message: 'its data is that of the moment' }] }
}

/** Takes those that are wanted, and removes all others. */
function copiesOf({ wanted, snapshots }: Service): Pick<ObservedService, 'snapshots' | 'restorable'> {
  const kept = new Set(wanted.snapshots.filter(({ deleted }) => !deleted).map(({ snapshot_id }) => snapshot_id))
  for (const id of snapshots.keys()) if (!kept.has(id)) snapshots.delete(id)
  const observed = wanted.snapshots.map(({ snapshot_id, deleted }): ObservedSnapshot => {
    if (deleted) return absent({ snapshot_id })
    const taken = snapshots.get(snapshot_id) ?? { taken_at: new Date(), size_bytes: snapshot_bytes }
    snapshots.set(snapshot_id, taken)
    return { snapshot_id, state: 'complete', ...taken }
  })
  // In the order in which they were taken.
  const [oldest] = snapshots.values()
  return { snapshots: observed, restorable: oldest ? { from: oldest.taken_at, until: 'now' } : 'none' }
}

function note({ log }: Logged, message: string): void {
  if (log.at(-1)?.message !== message) log.push({ timestamp: new Date().toISOString(), severity: 'LOG', message })
}

function lastNodeOf(owner: Service | ReplicaSet | undefined): number {
  if (owner === undefined) return 0
  return 'replica_set_id' in owner.wanted ? owner.wanted.nodes - 1 : (owner.wanted.ha?.replica_count ?? 0)
}

/** One page has all entries. */
function pageOf(owner: Service | ReplicaSet | undefined, query: LogQuery): LogPage | LogRefusal {
  const { node = 0, skip, limit } = query
  if (node > lastNodeOf(owner)) return { refused: 'node' }
  const placed = matching(owner, query)
    .toReversed()
    .slice(skip, skip + limit)
  return { entries: placed.map(({ entry }) => entry), placed: () => placed }
}

/** A position is the number of entries before it. */
function tailOf(owner: Service | ReplicaSet | undefined, query: LogTailQuery): LogTail | LogRefusal {
  const { node = 0, after = '0' } = query
  const count = owner?.log.length ?? 0
  if (node > lastNodeOf(owner)) return { refused: 'node' }
  if (!/^\d{1,9}$/.test(after) || Number(after) > count) return { refused: 'cursor' }
  return { entries: matching(owner, query).filter(({ at }) => Number(at) > Number(after)), at: String(count) }
}

function matching(owner: Service | ReplicaSet | undefined, query: LogTailQuery | LogQuery): PlacedEntry[] {
  const { since_ms = -Infinity, until_ms = Infinity }: Partial<LogQuery> = query
  const accepts = newMatch(query)
  const placed = (owner?.log ?? []).map((entry, before) => ({ entry, node: 0, at: String(before + 1) }))
  return placed.filter(({ entry: { timestamp, severity, message: text, ...writer } }) => {
    const time_ms = Date.parse(timestamp)
    return time_ms > since_ms && time_ms < until_ms && accepts({ severity, text, writer })
  })
}
