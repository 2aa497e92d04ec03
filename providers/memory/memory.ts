// The provider that runs no program: what is wanted of it is held in maps, at once or after a given delay, as long as the process
// lives. For tests of everything above a provider, and to try the API without PostgreSQL. It keeps the promises of
// providers/provider.ts (test/provider/promises.ts runs on it) but one: no server listens at its addresses.
import { candidatesFor, type PortRange } from '../address.ts'
import type { Provider, RegionFacts, WantedReplicaSet, WantedService } from '../provider.ts'
import { newLogs } from './log.ts'
import { no_database, postgres_version, serviceSubject } from './service.ts'
import { newThings, type Things, waiting } from './thing.ts'

export type MemoryOptions = PortRange & {
  identity: string
  /** How long each change takes. */
  delay_ms: number
}

export type MemoryProvider = Provider & {
  /** It does not serve until it is applied again; the watchers are called. */
  crash(id: string): void
  /** By id: while it has one, each pass throws that error, or waits for what that sentence says. */
  failures: Map<string, Error | string>
}

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
  drills: { offered: false, reason: 'this region has no data whose restore could be tried out' },
  queries: { offered: false, reason: no_database },
  read_only_sessions: { offered: false, reason: no_database },
}
const idle_metrics = { cpu_usage_millicores: 1, memory_usage_bytes: 50_000_000, disk_usage_bytes: 40_000_000 }

export function openMemoryProvider({ identity, delay_ms, ...range }: MemoryOptions): MemoryProvider {
  const failures = new Map<string, Error | string>()
  const services: Things<WantedService> = newThings(delay_ms, failures)
  const sets: Things<WantedReplicaSet> = newThings(delay_ms, failures)
  const service = serviceSubject(services)
  const replica_set: Provider['replica_set'] = {
    refusal: () => undefined,
    list: sets.list,
    apply: async (wanted, pass) => {
      const { replica_set_id, service: parent } = wanted
      const deleted = wanted.deleted || parent.deleted
      if (!deleted && !services.find(parent.service_id)) return waiting('absent', 'its service is not there')
      return sets.apply(replica_set_id, { ...wanted, deleted }, parent.power, pass)
    },
  }
  const watchers: Parameters<Provider['watch']>[0][] = []
  return {
    facts: () => ({ ...facts, identity }),
    service,
    replica_set,
    vpc: vpcSubject(new Set()),
    addresses: (use) => candidatesFor(range, use),
    heal: async (id) => {
      const [one, other] = [services.find(id), sets.find(id)]
      return one ? service.apply(one.wanted) : other && replica_set.apply(other.wanted)
    },
    logs: newLogs((id) => services.find(id) ?? sets.find(id)),
    metrics: async (measured) => {
      const serving = measured.filter(({ service_id }) => services.find(service_id)?.state === 'serving')
      const sinceOf = (id: string) => services.find(id)?.serving_since_ms ?? 0
      return new Map(serving.map(({ service_id: id }) => [id, { ...idle_metrics, running_since_ms: sinceOf(id) }]))
    },
    watch: (onNews) => void watchers.push(onNews),
    crash: (id) => {
      const thing = services.find(id) ?? sets.find(id)
      if (thing) thing.state = 'not_serving'
      for (const onNews of watchers) onNews(sets.find(id) ? 'replica set' : 'service', id)
    },
    failures,
    close: async () => void (watchers.length = 0),
  }
}

function vpcSubject(vpcs: Set<string>): Provider['vpc'] {
  return {
    refusal: () => undefined,
    list: async () => [...vpcs].map((id) => ({ id, down: false })),
    apply: async (wanted, pass) => {
      pass?.signal.throwIfAborted()
      if (wanted.deleted) vpcs.delete(wanted.vpc_id)
      else vpcs.add(wanted.vpc_id)
      const linked = wanted.deleted ? [] : wanted.peers.filter(({ vpc_id }) => vpcs.has(vpc_id))
      const peers = linked.map(({ peering_id }) => ({ peering_id, provisioned_id: `memory-${peering_id}` }))
      if (wanted.deleted || peers.length === wanted.peers.length) return { settled: true, peers }
      return { settled: false, waiting_for: 'a peer is not there yet', look_again_seconds: 0.1, peers }
    },
  }
}
