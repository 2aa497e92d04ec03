// A service out of the repository for a drill: as it is there once everything that was committed before a moment has been copied.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Untried } from '#providers/provider.ts'
import type { Fetch } from './drills.ts'
import { fetchService } from './fetch.ts'
import { backupFilesOf, findState } from './backup-files.ts'
import { type Place, resticOf } from './repository.ts'
import { listRuns, type Restic } from './restic.ts'

const poll_ms = 100
const lowest_nice = 19

/** copyNow: the next copy of WAL begins at once, where this process makes them. */
export function newProofFetch(place: Place, lag_seconds: number, copyNow: () => void): Fetch {
  const files = backupFilesOf(place.data_dir)
  return async ({ service_id, since, signal, backup }) => {
    copyNow()
    const patience_ms = 2 * lag_seconds * 1000
    for (const begun = performance.now(); ; await pause(poll_ms, undefined, { signal })) {
      const state = await findState(files)
      const own = state?.services[service_id]
      if (own?.last_backup_at !== undefined && Date.parse(own.wal_until ?? '') >= since.getTime()) break
      // Its first snapshot is on its way, or no repository is made yet.
      if (own?.last_backup_at === undefined && state?.problem === undefined) return undefined
      if (performance.now() - begun < patience_ms) continue
      throw new Untried(`its backup is behind: ${own?.problem ?? state?.problem ?? 'the last run took too long'}`)
    }
    const folder = join(files.drill, service_id)
    const own_restic = resticOf({ ...place, signal })
    const restic: Restic = (args, options) => own_restic(args, { ...options, nice: lowest_nice })
    const remove = () => rm(folder, { recursive: true, force: true })
    try {
      const runs = await listRuns(restic)
      return { ...(await fetchService({ restic, runs, service_id, folder, backup })), remove }
    } catch (error) {
      await remove()
      throw error
    }
  }
}
