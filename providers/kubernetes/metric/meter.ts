// The meter of a cell: one question to each node for processor and memory of all its Pods, and one to the primary of each service for
// the rest, a limited number at a call, in rotation; between two of them the last value stands.
import type { MeasuredService, ServiceMetrics } from '../../provider.ts'
import type { Cluster, Pod } from '../api/kinds.ts'
import type { Cell } from '../cell.ts'
import { instancesOf, isPrimary, isReady } from '../cluster/look.ts'
import { service_label, set_label } from '../names.ts'
import { quantityOf, volumeOf } from '../sizes.ts'
import { type Sample, samplesOf } from './exposition.ts'
import {
  activityOf,
  type Counted,
  countedOf,
  kubelet_names,
  primary_names,
  type Used,
  usageOf,
  usedOf,
} from './values.ts'

type Memory = { counted?: Counted; used?: Used; metrics: ServiceMetrics }

/** The API server carries every answer, and is asked for other things too. */
const primaries_per_call = 40

export function newMeter(cell: Cell) {
  let memories = new Map<string, Memory>()
  let turn = 0
  return async (services: readonly MeasuredService[]): Promise<ReadonlyMap<string, ServiceMetrics>> => {
    const pods = podsByService(cell)
    const running = services.filter(({ service_id }) => primaryOf(pods.get(service_id)) !== undefined)
    const next = new Map(running.map(({ service_id }) => [service_id, memories.get(service_id) ?? { metrics: {} }]))
    memories = next
    const usage = await readUsage(cell, [...pods.values()].flat())
    for (const [service_id, memory] of next) noteUsage(memory, pods.get(service_id) ?? [], usage)
    const from = turn % Math.max(1, running.length)
    const polled = [...running.slice(from), ...running.slice(0, from)].slice(0, primaries_per_call)
    turn = from + polled.length
    await Promise.all(
      polled.map(async ({ service_id }) => {
        const [primary, memory] = [primaryOf(pods.get(service_id)), next.get(service_id)]
        if (primary && memory) await noteActivity(cell, primary, memory)
      }),
    )
    return new Map(
      [...next].map(([service_id, { metrics }]) => [
        service_id,
        { ...metrics, disk_quota_bytes: quotaOf(cell, service_id) },
      ]),
    )
  }
}

function quotaOf({ cache, settings }: Cell, service_id: string): number {
  const isOwn = ({ metadata }: Cluster) => metadata.labels?.[set_label] === undefined
  return quantityOf(volumeOf(settings, cache.listOf('Cluster', service_id).find(isOwn)))
}

function podsByService({ cache }: Cell): Map<string, Pod[]> {
  const own = cache.list('Pod').filter(({ metadata }) => metadata.labels?.[set_label] === undefined)
  return Map.groupBy(own, ({ metadata }) => metadata.labels?.[service_label] ?? '')
}

const primaryOf = (pods: readonly Pod[] = []) => instancesOf(pods).find((pod) => isReady(pod) && isPrimary(pod))

/** By the name of the Pod. A node that does not answer gives none. */
async function readUsage({ client }: Cell, pods: readonly Pod[]): Promise<Map<string, Sample[]>> {
  const nodes = new Set(pods.flatMap(({ spec }) => spec.nodeName ?? []))
  const texts = await Promise.all(
    [...nodes].map((node) => client.text(`/api/v1/nodes/${node}/proxy/metrics/resource`).catch(() => '')),
  )
  const samples = texts.flatMap((text) => samplesOf(text, kubelet_names))
  return Map.groupBy(samples, ({ labels }) => `${labels['namespace']}/${labels['pod']}`)
}

function noteUsage(memory: Memory, pods: readonly Pod[], usage: ReadonlyMap<string, Sample[]>): void {
  const samples = pods.flatMap(({ metadata }) => usage.get(`${metadata.namespace}/${metadata.name}`) ?? [])
  const used = usedOf(samples, performance.now())
  if (used === undefined) return
  memory.metrics = { ...memory.metrics, ...usageOf(used, memory.used) }
  memory.used = used
}

async function noteActivity({ client }: Cell, { metadata }: Pod, memory: Memory): Promise<void> {
  const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}:9187/proxy/metrics`
  const text = await client.text(path).catch(() => undefined)
  if (text === undefined) return
  const samples = samplesOf(text, primary_names)
  const counted = countedOf(samples, metadata.uid ?? '', performance.now())
  const { replica_lags: _old, replication_lag_bytes: _lag, running_since_ms: _since, ...others } = memory.metrics
  const primary_node = Number(metadata.name?.split('-').at(-1)) - 1
  memory.metrics = { ...others, primary_node, ...activityOf(samples, counted, memory.counted) }
  memory.counted = counted
}
