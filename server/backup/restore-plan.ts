// Which runs of a repository bring an installation back to a moment. Pure.
import { RepositoryRefused } from './repository.ts'
import type { Run } from './restic.ts'
import { takenOf } from './runs.ts'

export type RestorePlan = {
  meta: string
  meta_time: string
  /** Absent: no WAL is there; services are as of their snapshots. */
  wal?: string
  /** Of each service the newest snapshot before the moment. */
  snapshots: Readonly<Record<string, { run: string; snapshot_id: string; taken_at: string }>>
  /** As PostgreSQL reads it; absent: the end of the WAL. */
  at?: string
}

export function planOf(runs: readonly Run[], { at }: { at?: Date | undefined }): RestorePlan {
  const of = (tag: string) => runs.filter(({ tags }) => tags.includes(tag))
  const isBefore = (time: Date) => at === undefined || time <= at
  const meta = of('meta').findLast(({ time }) => isBefore(time))
  if (meta === undefined) {
    const first = of('meta')[0]?.time.toISOString()
    throw new RepositoryRefused(
      first === undefined ? 'the repository has no backup yet' : `the first backup in the repository is of ${first}`,
    )
  }
  // The first run with the WAL up to the moment: later ones may have pruned what leads to it.
  const wal = (at && of('wal').find(({ time }) => time > at)) ?? of('wal').at(-1)
  const snapshots: Record<string, { run: string; snapshot_id: string; taken_at: string }> = {}
  for (const { id, tags } of of('data')) {
    const service_id = valueOf(tags, 'service-')
    const taken_at = new Date(takenOf(tags))
    if (!isBefore(taken_at) || taken_at.toISOString() < (snapshots[service_id]?.taken_at ?? '')) continue
    snapshots[service_id] = { run: id, snapshot_id: valueOf(tags, 'snapshot-'), taken_at: taken_at.toISOString() }
  }
  return {
    meta: meta.id,
    meta_time: meta.time.toISOString(),
    ...(wal && { wal: wal.id }),
    snapshots,
    ...(at && { at: at.toISOString() }),
  }
}

const valueOf = (tags: readonly string[], prefix: string) =>
  tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length) ?? ''
