// What a size means in a cell: resources of the Pods, and PostgreSQL's parameters. Pure. Quantities are written as Kubernetes writes
// them, so that the wanted ones and those of a Pod can be compared as texts.
import type { Size } from '../provider.ts'
import { fixed_settings, log_settings } from '../postgres/fixed-settings.ts'
import { type Preload, preloadSettings, preloadsOf } from '../postgres/preloads.ts'
import { sizeSettings, type Values } from '../postgres/size.ts'
import type { Cluster, Resources } from './api/kinds.ts'

/** A shared service is one of many on a node and mostly idle; it must not take the node either. */
const shared: Resources = { requests: { cpu: '50m', memory: '256Mi' }, limits: { cpu: '1', memory: '1Gi' } }

/** Processors may be promised more often than once: databases are slower then. Memory never is: they would end. */
export function resourcesOf(size: Size, { cpu_overcommit = 1 }: Overcommit): Required<Resources> {
  if (size === 'shared') return { requests: {}, limits: {}, ...shared }
  const { cpu_millis, memory_gbs } = size
  const memory = `${memory_gbs}Gi`
  return {
    requests: { cpu: cpuOf(Math.ceil(cpu_millis / cpu_overcommit)), memory },
    limits: { cpu: cpuOf(cpu_millis), memory },
  }
}

/** Of the settings of a region. */
export type Overcommit = { cpu_overcommit?: number | undefined }

const cpuOf = (millis: number) => (millis % 1000 === 0 ? `${millis / 1000}` : `${millis}m`)

/** A volume never shrinks: where the region gives less than it did, an existing volume stays as it is. */
export function volumeOf({ storage_gbs }: { storage_gbs: number }, there: Pick<Cluster, 'spec'> | undefined): string {
  const wanted = `${storage_gbs}Gi`
  // The form in which the provider writes it.
  const { size = wanted } = (there?.spec['storage'] ?? {}) as { size?: string }
  return quantityOf(size) > quantityOf(wanted) ? size : wanted
}

/** Kubernetes' own notation: `1500m`, `3Gi`, `16384Ki`, `129e6`. */
export function quantityOf(text: string): number {
  const [, number = '0', unit = ''] = /^([\d.]+(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(text) ?? []
  return Number(number) * (units[unit] ?? 1)
}

const units: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 0.001,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

/** Libraries that an extension needs from the start. Of pg_stat_statements the operator makes the extension too, in every database. */
export const preloadsFor = (extensions: readonly string[]): Preload[] =>
  preloadsOf(new Set(['timescaledb', 'pg_stat_statements']), extensions)

export function parametersOf(size: Size, extensions: readonly string[]): Record<string, string> {
  const preloads = preloadsFor(extensions)
  const { shared_preload_libraries: _written_elsewhere, ...preloaded } = preloadSettings(preloads)
  const memory_of_any_size = Number.MAX_SAFE_INTEGER
  const values: Values = { ...sizeSettings(size, memory_of_any_size, preloads), ...preloaded, ...fixed }
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]))
}

const fixed = {
  ...log_settings,
  ...fixed_settings,
  // After this time a replica that found no WAL in the archive, as a new one does, turns to its primary.
  wal_retrieve_retry_interval: '1s',
  // The control plane's probes are not for the log.
  log_connections: 'off',
  log_disconnections: 'off',
}
