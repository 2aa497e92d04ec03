// The meter of all services on this host. Processor and memory are read at every call, from a few small files a service.
// The dearer parts, the walk over a service's files and the session in its database, run at a slower pace, only for
// services that were busy meanwhile, and within a budget a call; between two of them the last value stands. No
// process is started, and an idle service is not woken. The lag of standbys is asked at every call, only of services
// that have some, over a session that stays open.
import { readFileSync } from 'node:fs'
import { setImmediate as others } from 'node:timers/promises'
import type { MeasuredService, ServiceMetrics } from '../../provider.ts'
import { type Activity, activityOf } from './activity.ts'
import type { LagReader } from './lag-reader.ts'
import { replicaLagsOf } from './lag.ts'
import { groupOf, listeningAt, type Node } from '../host/layout.ts'
import { poolerGroupOf } from '../pooler/process.ts'
import type { Limits } from '../host/limits.ts'
import { findService, listNodes } from '../postgres/nodes.ts'
import { portOfPidFile, startOfPidFile } from '../postgres/port-in-force.ts'
import { pid_file } from '../../host/postmaster.ts'
import type { QuotaWatch } from '../quota/watch.ts'
import { inLanes } from '../../host/together.ts'
import { readText } from '../host/tenant-files.ts'
import { lastWrittenOf, storageOf } from '../host/storage.ts'
import { type Usage, usageOfGroup, usageOfProcesses } from '../host/usage.ts'
import { poolerFilesOf } from '../pooler/files.ts'

type MeterHost = {
  directory: string
  as_root: boolean
  limits: Limits
  lag_reader: LagReader
  quota_watch: Pick<QuotaWatch, 'find'>
}

/** What is kept of a service between two calls. Times are of the monotonic clock. */
type Memory = {
  pid: number
  /** Under which its unix socket is found. */
  port: number
  at_ms: number
  usage: Usage
  metrics: ServiceMetrics
  storage?: { at_ms: number; cpu_ns: number; took_ms: number; written_ms: number }
  activity?: { at_ms: number; cpu_ns: number; counted: Activity | undefined }
}

type Running = { memory: Memory; node: Node; has_standbys: boolean }

const pace_ms = 60_000
/** The pace for a service that was idle, as far as its processor time tells. */
const idle_pace_ms = 300_000
/** Less than a session or a checkpoint takes, more than our own polls and PostgreSQL's own housekeeping. */
const idle_cpu_ns_per_minute = 30_000_000
/** A huge data directory is walked less often: a hundredth of the time at most. */
const walk_share = 100
const walks_ms_per_call = 500
const sessions_per_call = 30
const sessions_at_once = 3
const services_per_turn = 16

export function newMeter(host: MeterHost) {
  let memories = new Map<string, Memory>()

  return async (services: readonly MeasuredService[]): Promise<ReadonlyMap<string, ServiceMetrics>> => {
    const running: Running[] = []
    const next = new Map<string, Memory>()
    for (const [at, { service_id, has_standbys = false }] of services.entries()) {
      const primary = await findService(host.directory, service_id, host.as_root)
      if (primary === undefined) continue
      const nodes = await listNodes(primary)
      const [node] = nodes
      const memory = measure(host, nodes, memories.get(service_id))
      if (memory !== undefined) {
        next.set(service_id, memory)
        running.push({ memory, node: listeningAt(node, memory.port), has_standbys })
      }
      if (at % services_per_turn === services_per_turn - 1) await others()
    }
    memories = next
    for (const one of running) noteQuota(host.quota_watch, one)
    await walkSome(running)
    await askSome(running)
    await readLags(host.lag_reader, running)
    return new Map(running.map(({ memory, node }) => [node.service_id, { ...memory.metrics }]))
  }
}

/** Processor and memory now; undefined when the service does not run. */
function measure(host: MeterHost, nodes: readonly [Node, ...Node[]], before: Memory | undefined): Memory | undefined {
  const [primary, ...standbys] = nodes
  const postmaster = postmasterOf(primary)
  if (postmaster === undefined) return undefined
  const { pid, port = primary.port, running_since_ms } = postmaster
  const all = [
    usageOf(host, primary, pid),
    ...standbys.map((node) => usageOf(host, node, postmasterOf(node)?.pid)),
    usageOfPooler(host, primary),
  ]
  const used = all.filter((one) => one !== undefined)
  if (used.length === 0) return undefined
  const usage = {
    cpu_ns: used.reduce((sum, one) => sum + one.cpu_ns, 0),
    memory_bytes: used.reduce((sum, one) => sum + one.memory_bytes, 0),
  }
  const at_ms = performance.now()
  const metrics: ServiceMetrics = {
    memory_usage_bytes: usage.memory_bytes,
    ...(running_since_ms && { running_since_ms }),
  }
  if (before === undefined || before.pid !== pid) return { pid, port, at_ms, usage, metrics }
  const cpu_ns = Math.max(0, usage.cpu_ns - before.usage.cpu_ns)
  metrics.cpu_usage_millicores = cpu_ns / 1000 / (at_ms - before.at_ms)
  return { ...before, port, at_ms, usage, metrics: { ...before.metrics, ...metrics } }
}

function usageOf({ limits }: MeterHost, node: Node, pid: number | undefined): Usage | undefined {
  if (pid === undefined) return undefined
  return (limits.hierarchy && usageOfGroup(limits.hierarchy, groupOf(node))) ?? usageOfProcesses(pid)
}

function usageOfPooler({ limits }: MeterHost, node: Node): Usage | undefined {
  if (limits.hierarchy) return usageOfGroup(limits.hierarchy, poolerGroupOf(node))
  const { folder, pid_name } = poolerFilesOf(node)
  const pid = processIn(folder, pid_name)?.pid
  return pid === undefined ? undefined : usageOfProcesses(pid)
}

/** With the port at which it listens, and since when it runs, from its pid file. */
function postmasterOf(node: Node) {
  const found = processIn(node.data, pid_file)
  return found && { ...found, port: portOfPidFile(found.text), running_since_ms: startOfPidFile(found.text) }
}

/** From a daemon's own pid file, whose process must run. As UTF-8, which Node reads three times as fast as Latin-1. */
function processIn(folder: string, name: string): { pid: number; text: string } | undefined {
  try {
    const text = readText(folder, name) ?? ''
    const pid = Number.parseInt(text, 10)
    if (!(pid > 0) || readFileSync(`/proc/${pid}/statm`, 'utf8').startsWith('0 ')) return undefined
    return { pid, text }
  } catch {
    return undefined
  }
}

/** Whether work that was last done then is due again. */
function isDue(memory: Memory, last: { at_ms: number; cpu_ns: number } | undefined, at_least_ms = 0): boolean {
  if (last === undefined) return true
  const age_ms = memory.at_ms - last.at_ms
  return age_ms >= Math.max(pace_ms, at_least_ms) && (age_ms >= idle_pace_ms || isBusy(memory, last))
}

function isBusy({ at_ms, usage }: Memory, since: { at_ms: number; cpu_ns: number }): boolean {
  return Math.abs(usage.cpu_ns - since.cpu_ns) > (idle_cpu_ns_per_minute * (at_ms - since.at_ms)) / 60_000
}

/** The longest waiting first. */
function dueAmong(running: readonly Running[], of: 'storage' | 'activity'): Running[] {
  const waited = ({ memory }: Running) => memory[of]?.at_ms ?? 0
  return running
    .filter(({ memory }) =>
      isDue(memory, memory[of], of === 'storage' ? (memory.storage?.took_ms ?? 0) * walk_share : 0),
    )
    .toSorted((a, b) => waited(a) - waited(b))
}

/** The measurement for its quota is newer than the last walk here, and saves the next one. */
function noteQuota(quota_watch: MeterHost['quota_watch'], { memory, node }: Running): void {
  const found = quota_watch.find(node.service_id)
  if (!found) return
  memory.metrics.disk_quota_bytes = found.quota_bytes
  if (!found.state) return
  const { data_bytes, archive_bytes } = found.state.used
  memory.metrics.disk_usage_bytes = data_bytes
  memory.metrics.disk_archive_bytes = archive_bytes
  memory.storage = { at_ms: memory.at_ms, cpu_ns: memory.usage.cpu_ns, took_ms: 0, written_ms: 0 }
}

async function walkSome(running: readonly Running[]): Promise<void> {
  const started = performance.now()
  for (const { memory, node } of dueAmong(running, 'storage')) {
    const begun = performance.now()
    if (begun - started > walks_ms_per_call) return
    const { at_ms, usage, storage } = memory
    const observed = { at_ms, cpu_ns: usage.cpu_ns, written_ms: await lastWrittenOf(node.data) }
    // A service that has neither worked nor written is as large as it was.
    if (storage?.written_ms === observed.written_ms && !isBusy(memory, storage)) {
      memory.storage = { ...storage, ...observed }
      continue
    }
    memory.metrics.disk_usage_bytes = await storageOf(node.data)
    memory.storage = { ...observed, took_ms: performance.now() - begun }
  }
}

async function askSome(running: readonly Running[]): Promise<void> {
  const due = new Set(dueAmong(running, 'activity'))
  for (const one of running) if (!due.has(one)) rest(one.memory)
  const ask = async ({ memory, node }: Running) => {
    // A server that cannot be asked now, such as while it starts, is asked again at its next turn.
    noteActivity(memory, await activityOf(node).catch(() => undefined))
  }
  await inLanes([...due].slice(0, sessions_per_call), ask, sessions_at_once)
}

async function readLags(lag_reader: LagReader, running: readonly Running[]): Promise<void> {
  for (const { memory } of running) {
    delete memory.metrics.replication_lag_bytes
    delete memory.metrics.replica_lags
    delete memory.metrics.primary_node
  }
  const ask = async ({ memory, node }: Running) => {
    memory.metrics.primary_node = node.number
    const lags = replicaLagsOf(await lag_reader.read(node).catch(() => new Map()))
    if (lags.length === 0) return
    memory.metrics.replica_lags = lags
    memory.metrics.replication_lag_bytes = lags.reduce((most, { bytes }) => Math.max(most, bytes), 0)
  }
  await inLanes(
    running.filter(({ has_standbys }) => has_standbys),
    ask,
    sessions_at_once,
  )
}

/** Without processor time there are no transactions. */
function rest(memory: Memory): void {
  const { activity } = memory
  if (activity === undefined || memory.at_ms - activity.at_ms < pace_ms) return
  memory.metrics.transactions_per_second = 0
}

function noteActivity(memory: Memory, counted: Activity | undefined): void {
  const before = memory.activity
  memory.activity = { at_ms: memory.at_ms, cpu_ns: memory.usage.cpu_ns, counted }
  if (counted === undefined) return
  memory.metrics.connections = counted.connections
  if (before?.counted === undefined || counted.transactions < before.counted.transactions) return
  const seconds = (memory.at_ms - before.at_ms) / 1000
  // Our own session is one of them.
  const transactions = Math.max(0, counted.transactions - before.counted.transactions - 1)
  memory.metrics.transactions_per_second = transactions / seconds
  const hit = counted.blocks_hit - before.counted.blocks_hit
  const read = counted.blocks_read - before.counted.blocks_read
  if (hit + read > 0) memory.metrics.cache_hit_ratio = hit / (hit + read)
}
