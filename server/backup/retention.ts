// Which runs the repository keeps. Pure.
// 1. WAL and metadata: all of the last two hours, then the last of each day; 35 days. A run of WAL is forgotten only when the runs that
//    stay, before it and after it, leave no gap of archived files between them: a service may prune its archive sooner than daily.
// 2. Snapshots: 35 days; the newest of each service that is alive stays, whatever is known of its WAL.
import type { Run } from './restic.ts'

/** Of each service that a run of WAL has: the archived files, which have no gap. */
export type Archived = Readonly<Record<string, { first: string; last: string }>>

/** alive: the services that the installation has. */
export type KeptRuns = {
  runs: readonly Run[]
  archived: ReadonlyMap<string, Archived>
  alive: readonly string[]
  now: Date
}

const hour_ms = 3_600_000
const all_kept_ms = 2 * hour_ms
const kept_ms = 35 * 24 * hour_ms

export function forgettable({ runs, archived, alive, now }: KeptRuns): string[] {
  const ageOf = (run: Run) => now.getTime() - run.time.getTime()
  const of = (tag: string) => runs.filter(({ tags }) => tags.includes(tag))
  const newest_data = new Set(alive.map((id) => of(`service-${id}`).findLast(({ tags }) => tags.includes('data'))?.id))
  const data = of('data').filter((run) => ageOf(run) > kept_ms && !newest_data.has(run.id))
  const meta = of('meta').filter((run, at, all) => isThinned(run, all[at + 1], ageOf(run)))
  const wal: Run[] = []
  const all_wal = of('wal')
  let before: Archived = {}
  for (const [at, run] of all_wal.entries()) {
    const [own, after] = [archived.get(run.id), archived.get(all_wal[at + 1]?.id ?? '')]
    const covered = own !== undefined && after !== undefined && leavesNoGap(before, own, after)
    const old = all_wal[at + 1] !== undefined && ageOf(run) > kept_ms
    if (old || (covered && isThinned(run, all_wal[at + 1], ageOf(run)))) wal.push(run)
    else before = own ?? {}
  }
  return [...data, ...meta, ...wal].map(({ id }) => id)
}

/** next: the one after it. The last one of a day stays, and the last of all. */
function isThinned(run: Run, next: Run | undefined, age_ms: number): boolean {
  if (next === undefined || age_ms <= all_kept_ms) return false
  return age_ms > kept_ms || dayOf(run) === dayOf(next)
}

const dayOf = ({ time }: Run) => time.toISOString().slice(0, 10)

/** Whether every archived file of this run is in the one before it or the one after it. */
function leavesNoGap(before: Archived, own: Archived, after: Archived): boolean {
  return Object.entries(own).every(([service_id, { first }]) => {
    const [earlier, later] = [before[service_id], after[service_id]]
    if (later === undefined) return false
    const reached = earlier === undefined ? first : larger(first, earlier.last)
    return later.first.slice(8) <= reached.slice(8)
  })
}

const larger = (one: string, other: string) => (one.slice(8) > other.slice(8) ? one : other)
