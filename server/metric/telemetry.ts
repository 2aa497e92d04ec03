// What the server says about itself and its services to Prometheus. Requests and passes are counted as they happen; all else
// is read when Prometheus asks. It carries ids and routes, never names, paths or contents.
import { exportedName, type MetricName } from '#contract/metric.ts'
import type { PassOutcome } from '../reconciler.ts'
import type { Sql } from '../store/db.ts'
import { family, newHistogram, type Reading } from './exposition.ts'
import type { Sampler } from './sampler.ts'
import { countBacklog, listFailedDrills } from './store.ts'

type ObservedRequest = { method: string; route: string; status: number; seconds: number }

type BackupLag = { service_id: string; seconds: number }

export type Telemetry = {
  request: (observed: ObservedRequest) => void
  pass: (observed: PassOutcome) => void
  text(sources: { sql: Sql; sampler: Sampler; version: string; backup_lags: readonly BackupLag[] }): Promise<string>
}

const request_bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10] as const
const pass_bounds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const

export function newTelemetry(): Telemetry {
  const requests = newHistogram(
    'howdah_http_request_duration_seconds',
    'Time to answer a request, by route and class of status.',
    request_bounds,
  )
  const passes = newHistogram(
    'howdah_reconcile_duration_seconds',
    'Time of one pass over one subject, by kind and outcome.',
    pass_bounds,
  )
  return {
    request: ({ method, route, status, seconds }) =>
      requests.observe({ method, route, status: `${Math.floor(status / 100)}xx` }, seconds),
    pass: ({ kind, outcome, seconds }) => passes.observe({ kind, outcome }, seconds),
    text: async ({ sql, sampler, version, backup_lags }) => {
      const [backlog, failed_drills] = await Promise.all([countBacklog(sql), listFailedDrills(sql)])
      return [
        family('howdah_build_info', 'gauge', 'Always 1; the version is a label.', [{ labels: { version }, value: 1 }]),
        requests.text(),
        passes.text(),
        family('howdah_work_due', 'gauge', 'Subjects that wait for a pass.', backlog.map(read('due'))),
        family('howdah_work_failing', 'gauge', 'Subjects whose last pass failed.', backlog.map(read('failing'))),
        ...serviceFamilies(sampler),
        ...replicaFamilies(sampler),
        family(
          'howdah_service_backup_lag_seconds',
          'gauge',
          'Age of the oldest commit that may not be in the backup yet.',
          backup_lags.map(({ service_id, seconds }) => ({ labels: { service_id }, value: seconds })),
        ),
        family(
          'howdah_service_drill_failed',
          'gauge',
          '1 for each service whose last restore drill failed.',
          failed_drills.map((labels) => ({ labels, value: 1 })),
        ),
        ...processFamilies(),
      ].join('')
    },
  }
}

const read =
  (of: 'due' | 'failing') =>
  (row: { kind: string; due: number; failing: number }): Reading => ({ labels: { kind: row.kind }, value: row[of] })

const service_families: [name: MetricName, help: string][] = [
  ['cpu_usage_millicores', 'Processor cores in use.'],
  ['memory_usage_bytes', 'Memory in use.'],
  ['disk_usage_bytes', 'Data and write-ahead log on the disk.'],
  ['disk_archive_bytes', 'Archived write-ahead log on the disk.'],
  ['disk_quota_bytes', 'What the two may take together.'],
  ['connections', 'Open sessions of clients.'],
  ['transactions_per_second', 'Committed and rolled back.'],
  ['replication_lag_bytes', 'Write-ahead log that the replica farthest behind has yet to replay.'],
  ['cache_hit_ratio', 'Blocks found in shared memory, of all that were read.'],
]

/** Each in the base unit, as Prometheus wants it. */
function serviceFamilies(sampler: Sampler): string[] {
  const samples = [...sampler.all()]
  return service_families.map(([name, help]) => {
    const role = name === 'replication_lag_bytes' ? 'replica' : 'primary'
    const units = name === 'cpu_usage_millicores' ? 1000 : 1
    const readings = samples.flatMap(({ service_id, project_id, metrics }) => {
      const value = metrics[name]
      return value === undefined ? [] : [{ labels: { service_id, project_id, role }, value: value / units }]
    })
    return family(exportedName(name), 'gauge', help, readings)
  })
}

/** Only of services that this server measures itself; other regions are told by theirs. */
function replicaFamilies(sampler: Sampler): string[] {
  const lags = [...sampler.all()].flatMap(({ service_id, project_id, metrics }) =>
    (metrics.replica_lags ?? []).map(({ replica_set_id, node, bytes, seconds }) => {
      const set = replica_set_id === undefined ? { role: 'replica' } : { role: 'replica_set', replica_set_id }
      return { labels: { service_id, project_id, ...set, node: String(node) }, bytes, seconds }
    }),
  )
  const readings = (of: 'bytes' | 'seconds') => lags.map(({ labels, ...lag }) => ({ labels, value: lag[of] }))
  const [bytes_help, seconds_help] = [
    'Write-ahead log that this node has yet to replay.',
    'Age of the last commit that this node has replayed, while there are more.',
  ]
  return [
    family('howdah_replica_lag_bytes', 'gauge', bytes_help, readings('bytes')),
    family('howdah_replica_lag_seconds', 'gauge', seconds_help, readings('seconds')),
  ]
}

function processFamilies(): string[] {
  const { user, system } = process.cpuUsage()
  const one = (value: number): Reading[] => [{ labels: {}, value }]
  return [
    family('process_cpu_seconds_total', 'counter', 'Processor time of the server.', one((user + system) / 1e6)),
    family('process_resident_memory_bytes', 'gauge', 'Memory of the server.', one(process.memoryUsage.rss())),
  ]
}
