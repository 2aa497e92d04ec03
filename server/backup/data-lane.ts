// The lane of what takes long: snapshots go to the repository, and the repository is looked after.
import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { statIfThere } from '#providers/host/read.ts'
import type { Backup, StagedSnapshot } from '#providers/provider.ts'
import type { Place, Repository } from './repository.ts'
import { list_timeout_seconds, listRuns, listStored, type Run, storeRun } from './restic.ts'
import { newUpkeep } from './upkeep.ts'

type Parts = Parameters<typeof newUpkeep>[0] & { place: Place; backups: readonly Pick<Backup, 'listSnapshots'>[] }

const data_timeout_seconds = 6 * 3600

export function newDataLane({ place, backups, state, ...parts }: Parts) {
  const inDataDir = (path: string) => relative(place.data_dir, path)
  const lookAfter = newUpkeep({ state, ...parts })

  const storeSnapshot = async (repository: Repository, snapshot: StagedSnapshot) => {
    const { service_id, snapshot_id, taken_at, folder } = snapshot
    const { restic, runs } = repository
    const tags = ['data', `service-${service_id}`, `snapshot-${snapshot_id}`, `taken-${taken_at.getTime()}`]
    const named = { host: place.installation_id, tags, paths: [inDataDir(folder)], time: new Date() }
    const options = { timeout_seconds: data_timeout_seconds, cwd: place.data_dir }
    await state.save({ storing: snapshot_id })
    const run = await storeRun(restic, named, options)
    const wanted = await sizesIn(folder)
    const by_name = new Map(wanted.map(([path, bytes]) => [inDataDir(path), bytes]))
    const { id, files } = await listStored(restic, run, by_name)
    const lacks = wanted.find(([path, bytes]) => files.get(inDataDir(path)) !== bytes)?.[0]
    const is_gone = wanted.length === 0
    if (is_gone || lacks !== undefined) await forgetUncompared(repository)
    if (lacks !== undefined)
      throw new Error(`the snapshot ${snapshot_id} lacks ${lacks} in the repository and is stored again`)
    if (is_gone) return
    runs.push({ id, time: named.time, tags, hostname: place.installation_id })
    await state.save({ storing: undefined })
  }

  /** What there is of a copy that lacks files, or that was cut short by a kill, or by a repository that went away. */
  const forgetUncompared = async ({ restic, runs }: Repository) => {
    const { storing } = await state.read()
    if (storing === undefined) return
    const isOf = ({ tags }: Run) => tags.includes(`snapshot-${storing}`)
    const left = (await listRuns(restic)).filter(isOf).map(({ id }) => id)
    if (left.length > 0) await restic(['forget', ...left], { timeout_seconds: list_timeout_seconds })
    runs.splice(0, runs.length, ...runs.filter((run) => !isOf(run)))
    await state.save({ storing: undefined })
  }

  /** Of one service that fails the others are copied all the same; the first failure is told. */
  return async (repository: Repository): Promise<void> => {
    const failures: unknown[] = []
    for (const backup of backups) {
      for (const snapshot of newestOf(await backup.listSnapshots())) {
        await forgetUncompared(repository)
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
