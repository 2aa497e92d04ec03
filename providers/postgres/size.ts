// What a size means in every region. Pure.
import type { Size } from '../provider.ts'
import { preloadWorkers, type Preload } from './preloads.ts'

/** Settings of PostgreSQL by their names. */
export type Values = Record<string, string | number>

/** A shared service is one of many on a host and mostly idle. */
const shared_memory_mb = 128
const connections_max = 1_000

/** A shared service has no memory of its own: it counts as one with 1 GB. */
const shared_memory_gbs = 1

/** What a service may take of the disk with data, WAL and archive; undefined: as much as there is. */
export function diskGbsOf(size: Size, gbs_per_memory_gb: number): number | undefined {
  if (gbs_per_memory_gb === 0) return undefined
  return gbs_per_memory_gb * (size === 'shared' ? shared_memory_gbs : size.memory_gbs)
}

/** How many connections a server of this size has, when nothing forces it to have more. */
export function connectionsOf(size: Size): number {
  return size === 'shared' ? 50 : Math.min(50 * size.memory_gbs, connections_max)
}

export function sizeSettings(size: Size, host_memory_mb: number, preloads: readonly Preload[]): Values {
  const memory_mb = size === 'shared' ? shared_memory_mb : Math.min(size.memory_gbs * 1024, host_memory_mb)
  const cores = size === 'shared' ? 1 : Math.ceil(size.cpu_millis / 1000)
  const connections = connectionsOf(size)
  return {
    shared_buffers: `${Math.floor(memory_mb / 4)}MB`,
    effective_cache_size: `${Math.floor((memory_mb * 3) / 4)}MB`,
    // A quarter of the memory if every connection sorts at once; PostgreSQL's own default at least.
    work_mem: `${Math.max(4, Math.floor(memory_mb / 4 / connections))}MB`,
    maintenance_work_mem: `${Math.min(2048, Math.max(32, Math.floor(memory_mb / 16)))}MB`,
    // A round starts a process for each database, and most have nothing to do.
    autovacuum_naptime: size === 'shared' ? '5min' : '2min',
    max_connections: connections,
    max_worker_processes: 4 + 2 * cores + preloadWorkers(preloads),
    max_parallel_workers: cores,
    max_parallel_workers_per_gather: Math.floor(cores / 2),
    max_logical_replication_workers: size === 'shared' ? 0 : 4,
    min_wal_size: size === 'shared' ? '32MB' : '80MB',
    max_wal_size: size === 'shared' ? '256MB' : `${Math.min(16, Math.max(1, size.memory_gbs / 2))}GB`,
  }
}
