// A snapshot in the cell: a Backup, which the operator's plugin carries out, and what it left in the store. Pure.
import type { ObservedService, ObservedSnapshot, WantedSnapshot } from '../../provider.ts'
import type { Backup, Manifest } from '../api/kinds.ts'
import { backupOf, bytes_annotation, type ServiceNames, snapshot_label, taken_annotation } from '../names.ts'
import { plugin_name } from '../phase.ts'

export function backupManifest({ namespace, cluster, labels }: ServiceNames, snapshot_id: string): Manifest {
  return {
    apiVersion: 'postgresql.cnpg.io/v1',
    kind: 'Backup',
    metadata: { name: backupOf(snapshot_id), namespace, labels: { ...labels, [snapshot_label]: snapshot_id } },
    spec: { cluster: { name: cluster }, method: 'plugin', pluginConfiguration: { name: plugin_name } },
  }
}

export const isEnded = ({ status }: Backup) => status?.phase === 'completed' || status?.phase === 'failed'

/** A complete snapshot: a moment, and where it is in the store. */
export type Taken = { snapshot_id: string; backup_id: string; taken_at: Date; size_bytes: number }

/** Undefined: it is not complete, or was not read yet. */
export function takenOf({ metadata, status }: Backup): Taken | undefined {
  const { annotations = {}, labels = {} } = metadata
  const taken_at = new Date(annotations[taken_annotation] ?? '')
  const { phase, backupId: backup_id } = status ?? {}
  if (phase !== 'completed' || backup_id === undefined) return undefined
  if (Number.isNaN(taken_at.getTime())) return undefined
  const size_bytes = Number(annotations[bytes_annotation] ?? 0)
  return { snapshot_id: labels[snapshot_label] ?? '', backup_id, taken_at, size_bytes }
}

/** Of the file that the plugin writes beside each copy. Its end, rounded up: every commit that the snapshot has is before it. */
export function infoOf(text: string): { taken_at: Date; size_bytes: number } | undefined {
  const [, date, time, millis = '0', rest = ''] =
    /^end_time=(\S{10}) (\d\d:\d\d:\d\d)(?:\.(\d{1,3})(\d*))?\+00:00$/m.exec(text) ?? []
  const [, bytes] = /^cluster_size=(\d+)$/m.exec(text) ?? []
  if (date === undefined || time === undefined) return undefined
  const end_ms = Date.parse(`${date}T${time}.${millis.padEnd(3, '0')}Z`)
  return { taken_at: new Date(end_ms + (/[1-9]/.test(rest) ? 1 : 0)), size_bytes: Number(bytes ?? 0) }
}

/** Of the same file. */
export function majorIn(text: string): number | undefined {
  const [, version] = /^version=(\d+)\d{4}$/m.exec(text) ?? []
  return version === undefined ? undefined : Number(version)
}

/** What is observed of the snapshots that are wanted, and of those that are not any more. */
export function snapshotsOf(
  wanted: readonly WantedSnapshot[],
  backups: readonly Backup[],
  proven: Date | undefined,
): Pick<ObservedService, 'snapshots' | 'restorable'> {
  const taken = backups.flatMap((backup) => takenOf(backup) ?? [])
  const snapshots = wanted.map(({ snapshot_id, deleted }): ObservedSnapshot => {
    const is_there = backups.some(({ metadata }) => metadata.name === backupOf(snapshot_id))
    const one = taken.find((other) => other.snapshot_id === snapshot_id)
    if (one === undefined) return { snapshot_id, state: deleted && !is_there ? 'absent' : 'taking' }
    return { snapshot_id, state: 'complete', taken_at: one.taken_at, size_bytes: one.size_bytes }
  })
  const lasting = new Set(wanted.filter(({ deleted }) => !deleted).map(({ snapshot_id }) => snapshot_id))
  const moments = taken.filter(({ snapshot_id }) => lasting.has(snapshot_id)).map(({ taken_at }) => taken_at.getTime())
  if (moments.length === 0) return { snapshots, restorable: 'none' }
  const until = Math.max(...moments, proven?.getTime() ?? 0)
  return { snapshots, restorable: { from: new Date(Math.min(...moments)), until: new Date(until) } }
}

/** Whether a file of WAL is older than another, on whatever timeline; histories of timelines have no age. */
export function isWalBefore(key: string, begin_wal: string): boolean {
  const [, position] = /\/[0-9A-F]{8}([0-9A-F]{16})(?:\.[^/]*)?$/.exec(key) ?? []
  return position !== undefined && position < begin_wal.slice(8)
}
