// The lane of what takes long: snapshots go to the repository, what is no longer needed there is forgotten, and its packs are read.
import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { statIfThere } from '#providers/host/read.ts'
import type { Backup, StagedSnapshot } from '#providers/provider.ts'
import type { Log } from '../log.ts'
import { checkRepository } from './check.ts'
import type { Place, Repository } from './repository.ts'
import { list_timeout_seconds, listRuns, readRun, storeRun } from './restic.ts'
import { type Archived, forgettable } from './retention.ts'
import type { StateFile } from './runner.ts'
import { archivedOf } from './runs.ts'

type Parts = {
  place: Place
  backups: readonly Backup[]
  /** Of the runs of WAL that this process made or has read. */
  archived: Map<string, Archived>
  lag_seconds: number
  state: StateFile
  log: Log
  /** No run of WAL is under way meanwhile. */
  exclusively: (work: () => Promise<void>) => Promise<void>
}

const data_timeout_seconds = 6 * 3600
const hour_ms = 3_600_000
const day_ms = 24 * hour_ms
/** At what hour of the machine's own clock the repository is repacked, unless the server does not run then. */
const quiet_hour = 3
/** Of what a repacking may move while WAL waits for it. */
const repack_mb_per_second = 4
const forget_at_once_max = 500
/** Of those that another process made, at a time. */
const runs_read_max = 100

export function newDataLane({ place, backups, archived, lag_seconds, state, log, exclusively }: Parts) {
  const inDataDir = (path: string) => relative(place.data_dir, path)
  /** So that no copy of WAL becomes late by it. */
  const prune_seconds = Math.ceil(lag_seconds / 2)

  const storeSnapshot = async ({ restic, runs }: Repository, snapshot: StagedSnapshot) => {
    const { service_id, snapshot_id, taken_at, folder } = snapshot
    const tags = ['data', `service-${service_id}`, `snapshot-${snapshot_id}`, `taken-${taken_at.getTime()}`]
    const named = { host: place.installation_id, tags, paths: [inDataDir(folder)], time: new Date() }
    const options = { timeout_seconds: data_timeout_seconds, cwd: place.data_dir }
    const { id, files } = await storeRun(restic, named, options)
    const wanted = await sizesIn(folder)
    const lacks = wanted.find(([path, bytes]) => files.get(inDataDir(path)) !== bytes)?.[0]
    const is_gone = wanted.length === 0
    if (lacks === undefined && !is_gone) {
      runs.push({ id, time: named.time, tags, hostname: place.installation_id })
      return
    }
    await restic(['forget', id], { timeout_seconds: list_timeout_seconds })
    if (!is_gone) throw new Error(`the snapshot ${snapshot_id} lacks ${lacks} in the repository and is stored again`)
  }

  /**
   * What no run needs any more goes. Repacking locks the repository for longer, so once a week, for a bounded time, it moves so much
   * together as fits into that.
   */
  const tidy = async ({ restic, runs }: Repository, repacks: boolean) => {
    const unknown = runs.filter(({ id, tags }) => tags.includes('wal') && !archived.has(id))
    for (const { id } of unknown.slice(0, runs_read_max))
      archived.set(id, archivedOf((await readRun(restic, id)).files))
    const ids = forgettable({ runs, archived, now: new Date() }).slice(0, forget_at_once_max)
    const moves = ['--max-repack-size', `${prune_seconds * repack_mb_per_second}M`]
    const words = repacks ? ['--max-unused', '10%', ...moves] : ['--max-unused', 'unlimited']
    await exclusively(async () => {
      await restic(['unlock'], { timeout_seconds: list_timeout_seconds })
      if (ids.length > 0) await restic(['forget', ...ids], { timeout_seconds: list_timeout_seconds })
      const forgotten = new Set(ids)
      runs.splice(0, runs.length, ...runs.filter(({ id }) => !forgotten.has(id)))
      await restic(['prune', ...words], { timeout_seconds: prune_seconds })
      runs.splice(0, runs.length, ...(await listRuns(restic)))
    })
    for (const id of ids) archived.delete(id)
    log.info({ forgotten: ids.length, repacks }, 'repository tidied')
  }

  /** Each is tried once when it is due, and again when it is due again. */
  const lookAfter = async (repository: Repository) => {
    const now = new Date()
    const { tidied_at, repacked_at, checked_at, damage } = await state.read()
    const ageOf = (at: string | undefined) => (at === undefined ? 0 : now.getTime() - Date.parse(at))
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

  /** Of one service that fails the others are copied all the same; the first failure is told. */
  return async (repository: Repository): Promise<void> => {
    const failures: unknown[] = []
    for (const backup of backups) {
      for (const snapshot of newestOf(await backup.listSnapshots())) {
        const is_stored = repository.runs.some(({ tags }) => tags.includes(`snapshot-${snapshot.snapshot_id}`))
        if (!is_stored) await storeSnapshot(repository, snapshot).catch((error: unknown) => failures.push(error))
      }
    }
    await lookAfter(repository)
    if (failures.length > 0) throw failures[0]
    if ((await state.read()).data_problem !== undefined) await state.save({ data_problem: undefined })
  }
}

/** Of each service the newest snapshot: older ones were the newest once. */
function newestOf(snapshots: readonly StagedSnapshot[]): StagedSnapshot[] {
  const newest = new Map<string, StagedSnapshot>()
  for (const one of snapshots) {
    if ((newest.get(one.service_id)?.taken_at ?? 0) <= one.taken_at) newest.set(one.service_id, one)
  }
  return [...newest.values()]
}

async function sizesIn(folder: string): Promise<[path: string, bytes: number][]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  return Promise.all(paths.map(async (path) => [path, (await statIfThere(path))?.size ?? -1] as [string, number]))
}
