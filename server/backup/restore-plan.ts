// Which runs of a repository bring an installation back to a moment. Pure.
import { RepositoryRefused } from './repository.ts'
import type { Run } from './restic.ts'
import { behindTag, takenOf } from './runs.ts'

export type StoredSnapshot = { run: string; snapshot_id: string; taken_at: string }

/** Of each service those before a moment, newest first. */
type StoredSnapshots = Readonly<Record<string, readonly StoredSnapshot[]>>

/** Raised when a plan of before would be misread. */
export const plan_version = 2

export type RestorePlan = {
  version: typeof plan_version
  meta: string
  meta_time: string
  /** Absent: no WAL is there; services are as of their snapshots. */
  wal?: string
  snapshots: StoredSnapshots
  /** As PostgreSQL reads it; absent: the end of the WAL. */
  at?: string
  /** Those that were chosen; empty: all. */
  services: readonly string[]
}

type Chosen = { at?: Date | undefined; services?: readonly string[] }

export function planOf(runs: readonly Run[], { at, services = [] }: Chosen): RestorePlan {
  const of = (tag: string) => runs.filter(({ tags }) => tags.includes(tag))
  const meta = of('meta').findLast(({ time }) => at === undefined || time <= at)
  if (meta === undefined) {
    const first = of('meta')[0]?.time.toISOString()
    throw new RepositoryRefused(
      first === undefined ? 'the repository has no backup yet' : `the first backup in the repository is of ${first}`,
    )
  }
  const wal = walRunOf(runs, at)
  return {
    version: plan_version,
    meta: meta.id,
    meta_time: meta.time.toISOString(),
    ...(wal && { wal: wal.id }),
    snapshots: snapshotsBefore(runs, at),
    ...(at && { at: at.toISOString() }),
    services,
  }
}

/**
 * The first run with the WAL up to the moment: later ones may have pruned what leads to it. Of a service, a run that is not behind with it.
 */
export function walRunOf(runs: readonly Run[], at: Date | undefined, service_id = ''): Run | undefined {
  const of_wal = runs.filter(({ tags }) => tags.includes('wal'))
  const has = ({ time, tags }: Run) => at !== undefined && time > at && !tags.includes(behindTag(service_id))
  return of_wal.find(has) ?? of_wal.at(-1)
}

export function snapshotsBefore(runs: readonly Run[], at: Date | undefined): StoredSnapshots {
  const snapshots: Record<string, StoredSnapshot[]> = {}
  for (const { id, tags } of runs.filter((run) => run.tags.includes('data'))) {
    const taken_at = new Date(takenOf(tags))
    if (at !== undefined && taken_at > at) continue
    const stored = { run: id, snapshot_id: valueOf(tags, 'snapshot-'), taken_at: taken_at.toISOString() }
    ;(snapshots[valueOf(tags, 'service-')] ??= []).push(stored)
  }
  for (const of_one of Object.values(snapshots)) of_one.sort((a, b) => (a.taken_at < b.taken_at ? 1 : -1))
  return snapshots
}

const valueOf = (tags: readonly string[], prefix: string) =>
  tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length) ?? ''
