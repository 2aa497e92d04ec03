// One sampler for all services: every ten seconds it asks the providers of this server what their services use, keeps the
// answer for requests, and writes it down. Services of other regions are measured by their own servers and read
// from the store. A round that fails is logged; the next one comes anyway.
import { setTimeout as pause } from 'node:timers/promises'
import { metric_names } from '#contract/metric.ts'
import type { Provider, ServiceMetrics } from '#providers/provider.ts'
import { type Db, storeIsUnreachable } from '../store/db.ts'
import type { Log } from '../log.ts'
import {
  insertSamples,
  type LatestRow,
  listLatest,
  listMeasured,
  type MeasuredRow,
  removeExpired,
  rollUp,
} from './store.ts'
import { tiers } from './tier.ts'

export type Sample = { service_id: string; project_id: string; sampled_ms: number; metrics: ServiceMetrics }

export type Sampler = {
  /** The newest sample of a service; undefined when none was taken in the last round. */
  latest(service_id: string): Sample | undefined
  all(): Iterable<Sample>
  stop(): Promise<void>
}

type Parts = { db: Db; log: Log; providers: ReadonlyMap<string, Provider>; interval_ms?: number | undefined }

const interval_ms_default = tiers[0].bucket_seconds * 1000
/** By then the others have written what they measured at the same moment. */
const others_write_ms = 2_000
const minutes_every_ms = 60_000
/** Half-made buckets are written again each time, so not too often. */
const quarters_every_ms = 300_000

export function startSampler({ db, log, providers, interval_ms = interval_ms_default }: Parts): Sampler {
  let measured = new Map<string, Sample>()
  let read = new Map<string, Sample>()
  let timer: NodeJS.Timeout | undefined
  const stopping = new AbortController()
  const history = newHistory(db)

  const round = async () => {
    try {
      const rows = Map.groupBy(await listMeasured(db), (row) => (providers.has(row.region_code) ? 'own' : 'foreign'))
      measured = byService(await measureAll(providers, rows.get('own') ?? []))
      if (measured.size > 0) await insertSamples(db, [...measured.values()], tiers[0])
      await history.keep()
      const foreign = rows.get('foreign') ?? []
      if (foreign.length > 0) await pause(others_write_ms, undefined, { signal: stopping.signal, ref: false })
      read = byService(await readLatest(db, foreign))
    } catch (error) {
      const expected = stopping.signal.aborted || storeIsUnreachable(error)
      if (!expected) log.error({ err: error }, 'services could not be measured')
    }
    // At the same moments in every server, so that two that share a region write the same buckets.
    if (!stopping.signal.aborted) timer = setTimeout(wake, interval_ms - (Date.now() % interval_ms)).unref()
  }
  let running = round()
  const wake = () => {
    running = round()
  }

  return {
    latest: (service_id) => measured.get(service_id) ?? read.get(service_id),
    all: () => [...measured.values(), ...read.values()],
    stop: async () => {
      stopping.abort()
      clearTimeout(timer)
      await running
    },
  }
}

function byService(samples: readonly Sample[]): Map<string, Sample> {
  return new Map(samples.map((sample) => [sample.service_id, sample]))
}

async function measureAll(providers: ReadonlyMap<string, Provider>, rows: readonly MeasuredRow[]): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const [region_code, provider] of providers) {
    samples.push(
      ...(await measure(
        provider,
        rows.filter((row) => row.region_code === region_code),
      )),
    )
  }
  return samples
}

async function measure(provider: Provider, rows: readonly MeasuredRow[]): Promise<Sample[]> {
  const measured = await provider.metrics(rows)
  const sampled_ms = Date.now()
  return rows.flatMap(({ service_id, project_id }) => {
    const metrics = measured.get(service_id)
    return metrics === undefined ? [] : [{ service_id, project_id, sampled_ms, metrics: credible(metrics) }]
  })
}

/** A tenant may replace the program that a value comes from. A value that no column takes would lose those of all services. */
function credible(metrics: ServiceMetrics): ServiceMetrics {
  const kept = { ...metrics }
  for (const name of metric_names) if (!isCredible(metrics[name] ?? 0)) delete kept[name]
  return kept
}

const isCredible = (value: number) => value === 0 || (value >= 1e-9 && value <= Number.MAX_SAFE_INTEGER)

async function readLatest(db: Db, rows: readonly MeasuredRow[]): Promise<Sample[]> {
  if (rows.length === 0) return []
  const project_ids = new Map(rows.map(({ service_id, project_id }) => [service_id, project_id]))
  const latest = await listLatest(db, [...project_ids.keys()], tiers[0])
  return latest.map((row) => ({
    service_id: row.service_id,
    project_id: project_ids.get(row.service_id) ?? '',
    sampled_ms: row.time.getTime(),
    metrics: metricsOf(row),
  }))
}

function metricsOf(row: LatestRow): ServiceMetrics {
  const metrics: ServiceMetrics = {}
  for (const name of metric_names) {
    const value = row[name]
    if (value !== null) metrics[name] = value
  }
  return metrics
}

/** Coarser tiers are made, and old buckets removed, now and then. */
function newHistory(db: Db) {
  let minutes_ms = -Infinity
  let quarters_ms = -Infinity
  return {
    keep: async () => {
      const now_ms = performance.now()
      if (now_ms - minutes_ms < minutes_every_ms) return
      await rollUp(db, tiers[0], tiers[1])
      await removeExpired(db, tiers[0])
      minutes_ms = now_ms
      if (now_ms - quarters_ms < quarters_every_ms) return
      await rollUp(db, tiers[1], tiers[2])
      await removeExpired(db, tiers[1])
      await removeExpired(db, tiers[2])
      quarters_ms = now_ms
    },
  }
}
