// The lane of what takes long: snapshots go to the repository, what is no longer needed there is forgotten, and its packs are read.
import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { statIfThere } from '#providers/host/read.ts'
import type { Backup, StagedSnapshot } from '#providers/provider.ts'
import type { Place, Repository } from './repository.ts'
import { list_timeout_seconds, listRuns, readRun, storeRun } from './restic.ts'
import { type Archived, forgettable } from './retention.ts'
import { archivedOf } from './runs.ts'

type Parts = {
  place: Place
  backups: readonly Backup[]
  /** Of the runs of WAL that this process made or has read. */
  archived: Map<string, Archived>
  lag_seconds: number
  /** No run of WAL is under way meanwhile. */
  exclusively: (work: () => Promise<void>) => Promise<void>
}

const data_timeout_seconds = 6 * 3600
const tidy_every_ms = 3_600_000
const check_every_ms = 24 * 3_600_000
/** A thirtieth of the packs each night: every one once a month. */
const check_parts = 30
const forget_at_once_max = 500
/** Of those that another process made, at a time. */
const runs_read_max = 100

export function newDataLane({ place, backups, archived, lag_seconds, exclusively }: Parts) {
  const inDataDir = (path: string) => relative(place.data_dir, path)
  let tidied_ms = performance.now()
  let checked_ms = performance.now()

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

  /** Locks of killed runs go; what no run needs any more goes without repacking, which would lock the repository for long. */
  const tidy = async ({ restic, runs }: Repository) => {
    const unknown = runs.filter(({ id, tags }) => tags.includes('wal') && !archived.has(id))
    for (const { id } of unknown.slice(0, runs_read_max))
      archived.set(id, archivedOf((await readRun(restic, id)).files))
    const ids = forgettable({ runs, archived, now: new Date() }).slice(0, forget_at_once_max)
    await exclusively(async () => {
      await restic(['unlock'], { timeout_seconds: list_timeout_seconds })
      if (ids.length > 0) await restic(['forget', ...ids], { timeout_seconds: list_timeout_seconds })
      await restic(['prune', '--max-unused', 'unlimited'], { timeout_seconds: lag_seconds })
      runs.splice(0, runs.length, ...(await listRuns(restic)))
    })
    for (const id of ids) archived.delete(id)
  }

  return async (repository: Repository): Promise<void> => {
    for (const backup of backups) {
      for (const snapshot of newestOf(await backup.listSnapshots())) {
        const is_stored = repository.runs.some(({ tags }) => tags.includes(`snapshot-${snapshot.snapshot_id}`))
        if (!is_stored) await storeSnapshot(repository, snapshot)
      }
    }
    if (performance.now() - tidied_ms > tidy_every_ms) {
      tidied_ms = performance.now()
      await tidy(repository)
    }
    if (performance.now() - checked_ms > check_every_ms) {
      checked_ms = performance.now()
      const part = `${(new Date().getUTCDate() % check_parts) + 1}/${check_parts}`
      const words = ['check', '--no-lock', `--read-data-subset=${part}`]
      await repository.restic(words, { timeout_seconds: data_timeout_seconds })
    }
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
