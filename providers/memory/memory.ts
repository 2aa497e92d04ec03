// The provider that makes nothing: everything that is wanted of it is held in maps, at once or after a given delay, and is there as long
// as the process is. For tests of all that stands above a provider, and for a look at the API without PostgreSQL. It keeps the promises
// of providers/provider.ts (test/provider/promises.ts runs on it), but for one: nothing listens at its endpoints.
import {
  NoAddress,
  type Endpoint,
  type Kind,
  type LogEntry,
  type LogPage,
  type LogQuery,
  type LogRefusal,
  type ObservedReplicaSet,
  type ObservedService,
  type ObservedSnapshot,
  type Pass,
  type Provider,
  type RegionFacts,
  type ServiceMetrics,
  type WantedReplicaSet,
  type WantedService,
  type WantedVpc,
} from '../provider.ts'
import { addressesIn } from '../vpc-address.ts'
import { newThings, type Thing } from './thing.ts'

export type MemoryOptions = {
  identity: string
  host: string
  ports: { first: number; last: number }
  /** How long each change takes; by default none. */
  delay_ms?: number
  facts?: Partial<RegionFacts>
}

export type MemoryProvider = Provider & {
  /** It does not serve until it is applied again, and the watchers hear of it. */
  crash(id: string): void
  /** It cannot be made as wanted, because of this, until `fail` is called without a sentence. */
  fail(id: string, sentence?: string): void
}

type Service = Thing & { wanted: WantedService; snapshots: Map<string, Taken>; log: LogEntry[] }
type ReplicaSet = Thing & { wanted: WantedReplicaSet }
type Taken = { taken_at: Date; size_bytes: number }

const facts_default: RegionFacts = {
  provider: 'memory',
  postgres_versions: ['18.4'],
  volume_type: 'memory',
  copy_on_write: true,
  disk_gbs_per_memory_gb: 0,
  pooler: { offered: true },
  replica_sets: { offered: true },
  vpcs: { offered: true },
  limits: { offered: false, reason: 'nothing runs here that could be limited' },
}
const snapshot_bytes = 40_000_000

export function openMemoryProvider(options: MemoryOptions): MemoryProvider {
  const { delay_ms = 0, host, ports } = options
  const services = newThings<Service>(delay_ms)
  const sets = newThings<ReplicaSet>(delay_ms)
  const vpcs = new Map<string, WantedVpc>()
  const watchers: ((kind: Kind, id: string) => void)[] = []

  const applyService = async (wanted: WantedService, pass?: Pass): Promise<ObservedService> => {
    pass?.signal.throwIfAborted()
    const { service_id } = wanted
    if (wanted.deleted) {
      if (!services.remove(service_id)) return { ...waiting('not_serving', 'it is being removed'), snapshots: [] }
      return { state: 'absent', settled: true, snapshots: wanted.snapshots.map(absent), happenings: [] }
    }
    const missing = services.has(service_id) ? undefined : missingSource(services, wanted)
    if (missing !== undefined) return { ...waiting('absent', missing), snapshots: [] }
    const service = services.ensure(service_id, wanted, () => ({ snapshots: new Map(), log: [] }))
    const seen = services.observe(service, wanted.power)
    if (seen.settled)
      note(service, `${wanted.power === 'on' ? 'serving' : 'stopped'} at generation ${wanted.generation}`)
    const [postgres_version = ''] = facts().postgres_versions
    return { ...seen, postgres_version, snapshots: seen.settled ? snapshotsOf(service) : [] }
  }

  const applySet = async (wanted: WantedReplicaSet, pass?: Pass): Promise<ObservedReplicaSet> => {
    pass?.signal.throwIfAborted()
    const { replica_set_id, service } = wanted
    if (wanted.deleted || service.deleted) {
      if (!sets.remove(replica_set_id)) return waiting('not_serving', 'it is being removed')
      return { state: 'absent', settled: true, happenings: [] }
    }
    if (!services.has(service.service_id)) return waiting('absent', 'its service is not there')
    return sets.observe(
      sets.ensure(replica_set_id, wanted, () => ({})),
      service.power,
    )
  }

  const facts = () => ({ ...facts_default, ...options.facts })
  const thingOf = (id: string) => services.find(id) ?? sets.find(id)
  const kindOf = (id: string): Kind => (sets.has(id) ? 'replica set' : 'service')
  const tell = (id: string) => {
    for (const onNews of watchers) onNews(kindOf(id), id)
  }

  return {
    identity: options.identity,
    facts,
    service: { refusal: () => undefined, apply: applyService, list: async () => services.list() },
    replica_set: { refusal: () => undefined, apply: applySet, list: async () => sets.list() },
    vpc: {
      refusal: () => undefined,
      apply: async (wanted, pass) => {
        pass?.signal.throwIfAborted()
        if (wanted.deleted) vpcs.delete(wanted.vpc_id)
        else vpcs.set(wanted.vpc_id, wanted)
        const linked = wanted.deleted ? [] : wanted.peers.filter(({ vpc_id }) => vpcs.has(vpc_id))
        const peers = linked.map(({ peering_id }) => ({ peering_id, provisioned_id: `memory-${peering_id}` }))
        if (peers.length === wanted.peers.length || wanted.deleted) return { settled: true, peers }
        return { settled: false, waiting_for: 'a peer is not there yet', look_again_seconds: 0.1, peers }
      },
      list: async () => [...vpcs.keys()].map((id) => ({ id, down: false })),
    },
    addresses: ({ cidr }) => (cidr === undefined ? portsOf(host, ports) : addressesIn(cidr)),
    heal: async (id) => {
      const [service, set] = [services.find(id), sets.find(id)]
      return service ? applyService(service.wanted) : set && applySet(set.wanted)
    },
    logs: async (service_id, query) => pageOf(services.find(service_id), query),
    metrics: async (measured) => {
      const serving = measured.filter(({ service_id }) => services.find(service_id)?.state === 'serving')
      return new Map(serving.map(({ service_id }) => [service_id, idle_metrics]))
    },
    watch: (onNews) => void watchers.push(onNews),
    doctor: async () => [],
    crash: (id) => {
      const thing = thingOf(id)
      if (thing) thing.state = 'not_serving'
      tell(id)
    },
    fail: (id, sentence) => {
      const thing = thingOf(id)
      if (thing) thing.failure = sentence
      tell(id)
    },
    close: async () => {
      watchers.length = 0
    },
  }
}

function* portsOf(host: string, { first, last }: MemoryOptions['ports']): Generator<Endpoint> {
  for (let port = first; port <= last; port += 1) yield { host, port }
  throw new NoAddress(`no port is free from ${first} to ${last}; delete services, or widen the range`)
}

const idle_metrics: ServiceMetrics = {
  cpu_usage_millicores: 1,
  memory_usage_bytes: 50_000_000,
  disk_usage_bytes: 40_000_000,
  connections: 0,
}

const absent = ({ snapshot_id }: { snapshot_id: string }): ObservedSnapshot => ({ snapshot_id, state: 'absent' })

const waiting = (state: 'absent' | 'not_serving', waiting_for: string) => ({
  state,
  settled: false,
  waiting_for,
  look_again_seconds: 0.1,
  happenings: [],
})

type Services = ReturnType<typeof newThings<Service>>

function missingSource(services: Services, { source }: WantedService): string | undefined {
  if (source === undefined) return undefined
  const parent = services.find(source.service_id)
  if (!parent) return `its parent ${source.service_id} is not there`
  return source.private || parent.snapshots.has(source.snapshot_id)
    ? undefined
    : 'the snapshot of its parent is being taken'
}

/** Takes those that are wanted, and removes all others. */
function snapshotsOf({ wanted, snapshots }: Service): ObservedSnapshot[] {
  const kept = new Set(wanted.snapshots.filter(({ deleted }) => !deleted).map(({ snapshot_id }) => snapshot_id))
  for (const id of snapshots.keys()) if (!kept.has(id)) snapshots.delete(id)
  return wanted.snapshots.map(({ snapshot_id, deleted }) => {
    if (deleted) return absent({ snapshot_id })
    const taken = snapshots.get(snapshot_id) ?? { taken_at: new Date(), size_bytes: snapshot_bytes }
    snapshots.set(snapshot_id, taken)
    return { snapshot_id, state: 'complete', ...taken }
  })
}

function note({ log }: Service, message: string): void {
  if (log.at(-1)?.message !== message) log.push({ timestamp: new Date().toISOString(), severity: 'LOG', message })
}

function pageOf(service: Service | undefined, query: LogQuery): LogPage | LogRefusal {
  const nodes = 1 + (service?.wanted.ha?.replica_count ?? 0)
  if (query.node !== undefined && query.node >= nodes) return { refused: 'node' }
  const before = query.cursor === undefined ? undefined : Number(query.cursor)
  if (before !== undefined && !Number.isInteger(before)) return { refused: 'cursor' }
  const matching = (service?.log ?? []).slice(0, before).filter((entry) => isAskedFor(entry, query))
  const entries = matching.toReversed().slice(query.skip, query.skip + query.limit)
  const left = matching.length - query.skip - entries.length
  return { entries, ...(left > 0 && { cursor: String(left) }) }
}

function isAskedFor({ timestamp, severity, message }: LogEntry, query: LogQuery): boolean {
  const { search, severities, since_ms = -Infinity, until_ms = Infinity } = query
  const ms = Date.parse(timestamp)
  return (
    ms > since_ms &&
    ms < until_ms &&
    (severities.length === 0 || severities.includes(severity)) &&
    search.every((word) => message.toLowerCase().includes(word.toLowerCase()))
  )
}
