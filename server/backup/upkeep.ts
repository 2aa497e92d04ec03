// The repository is looked after: every hour the runs that are no longer needed are forgotten, every week its packs are moved together, and
// every day some of them are read.
import type { Log } from '../log.ts'
import { checkRepository } from './check.ts'
import type { Repository } from './repository.ts'
import { list_timeout_seconds, listRuns, readRun, type Run } from './restic.ts'
import { type Archived, forgettable } from './retention.ts'
import type { StateFile } from './state-file.ts'
import { archivedOf } from './runs.ts'

type Parts = {
  /** Of the runs of WAL that this process made or has read. */
  archived: Map<string, Archived>
  /** The services that the installation has, also where their data is gone. */
  listAlive: () => Promise<string[]>
  lag_seconds: number
  state: StateFile
  log: Log
  /** No run of WAL is under way meanwhile. */
  exclusively: (work: () => Promise<void>) => Promise<void>
}

const hour_ms = 3_600_000
const day_ms = 24 * hour_ms
/** At what hour of the machine's own clock the repository is repacked, unless the server does not run then. */
const quiet_hour = 3
/** Of what a repacking may move while WAL waits for it. */
const repack_mb_per_second = 4
const forget_at_once_max = 500
/** Of those that another process made, at a time. */
const runs_read_max = 100

export function newUpkeep({ archived, listAlive, lag_seconds, state, log, exclusively }: Parts) {
  /** So that no copy of WAL becomes late by it. */
  const prune_seconds = Math.ceil(lag_seconds / 2)

  /**
   * What no run needs any more goes. Repacking locks the repository for longer, so once a week, for a bounded time, it moves so much
   * together as fits into that.
   */
  const tidy = async ({ restic, runs }: Repository, repacks: boolean) => {
    const listed = await listRuns(restic)
    nameWhole(archived, listed)
    const unknown = listed.filter(({ id, tags }) => tags.includes('wal') && !archived.has(id))
    for (const { id } of unknown.slice(0, runs_read_max))
      archived.set(id, archivedOf((await readRun(restic, id)).files))
    const alive = await listAlive()
    const ids = forgettable({ runs: listed, archived, alive, now: new Date() }).slice(0, forget_at_once_max)
    const moves = ['--max-repack-size', `${prune_seconds * repack_mb_per_second}M`]
    const words = repacks ? ['--max-unused', '10%', ...moves] : ['--max-unused', 'unlimited']
    await exclusively(async () => {
      await restic(['unlock'], { timeout_seconds: list_timeout_seconds })
      if (ids.length > 0) await restic(['forget', ...ids], { timeout_seconds: list_timeout_seconds })
      const isForgotten = ({ id }: Run) => ids.some((forgotten) => forgotten.startsWith(id))
      runs.splice(0, runs.length, ...runs.filter((run) => !isForgotten(run)))
      await restic(['prune', ...words], { timeout_seconds: prune_seconds })
      runs.splice(0, runs.length, ...(await listRuns(restic)))
    })
    for (const id of ids) archived.delete(id)
    log.info({ forgotten: ids.length, repacks }, 'repository tidied')
  }

  /** Each is tried once when it is due, and again when it is due again. */
  return async (repository: Repository): Promise<void> => {
    const now = new Date()
    const { tidied_at, repacked_at, checked_at, damage } = await state.read()
    const ageOf = (at: string | undefined) => {
      const age_ms = at === undefined ? 0 : now.getTime() - Date.parse(at)
      // By a clock that was ahead and was set right since.
      return age_ms < 0 ? Infinity : age_ms
    }
    const first = now.toISOString()
    if (tidied_at === undefined || repacked_at === undefined || checked_at === undefined) {
      await state.save({ tidied_at: first, repacked_at: first, checked_at: first })
    } else if (ageOf(tidied_at) > hour_ms) {
      const repacks = ageOf(repacked_at) > (now.getHours() === quiet_hour ? 7 : 8) * day_ms
      await state.save({ tidied_at: first, ...(repacks && { repacked_at: first }) })
      await tidy(repository, repacks)
    } else if (ageOf(checked_at) > day_ms) {
      await state.save({ checked_at: first })
      const found = await checkRepository(repository.restic, { now, all: damage !== undefined })
      if (found !== undefined) log.error({ reason: found }, 'the repository is damaged')
      await state.save({ damage: found })
    }
  }
}

/** A run that this process made is known by the beginning of its id; where that is of several, its list is read. */
function nameWhole(archived: Map<string, Archived>, listed: readonly Run[]): void {
  for (const [id, known] of archived) {
    const [one, ...others] = listed.filter((run) => run.id.startsWith(id))
    if (one === undefined || one.id === id) continue
    archived.delete(id)
    if (others.length === 0) archived.set(one.id, known)
  }
}
