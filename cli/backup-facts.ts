// What `howdah doctor` says of the backups of an installation: whether they are in time and whole, and whether every service could be
// restored when that was last tried. It only reads; without an installation, or while its store does not run, it says nothing of it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { HostFact } from '#providers/local/host-facts.ts'
import { hasDrills } from '#providers/registry.ts'
import type { Config } from '#server/config.ts'
import { findIsolation } from '#server/installation.ts'
import { listDrills } from '#server/metric/store.ts'
import { regionRowsOf } from '#server/regions.ts'
import { storeIsUp, withStore } from './store.ts'

export async function backupFacts(config: Config): Promise<HostFact[]> {
  const { data_dir } = config
  if (!existsSync(join(data_dir, 'installation-id'))) return []
  const { backupFilesOf, findState } = await import('#server/backup/backup-files.ts')
  const state = await findState(backupFilesOf(data_dir))
  const problem = state?.damage ?? state?.problem ?? state?.data_problem
  const remedy = 'howdah admin backup status says more'
  const backups: HostFact[] =
    state === undefined
      ? []
      : problem === undefined
        ? [{ name: 'backups', supported: true, finding: `as of ${state.saved_at}` }]
        : [{ name: 'backups', supported: false, finding: problem, remedy }]
  // What an isolated installation knows can be read from inside only, where the facts about this machine are others.
  const can_ask = (await findIsolation(data_dir)) === undefined && (await storeIsUp(config))
  return [...backups, ...(can_ask ? await withStore(config, (sql) => drillFacts(sql, config)) : [])]
}

async function drillFacts(sql: Parameters<typeof listDrills>[0], config: Config): Promise<HostFact[]> {
  const name = 'restore drills'
  const drilled = regionRowsOf(config).filter(({ provider }) => hasDrills(provider))
  const region_codes = drilled.map(({ region_code }) => region_code)
  const drills = await listDrills(sql, region_codes)
  const failed = drills.filter(({ drill_error }) => drill_error !== null)
  if (drills.length === 0) return []
  if (failed.length === 0) {
    const proven = drills.filter(({ is_proven }) => is_proven).length
    const finding = `${proven} of ${drills.length} services were proven restorable within a day, none failed`
    return [{ name, supported: true, finding }]
  }
  return failed.map(({ service_id, name: service, drill_error }) => ({
    name,
    supported: false,
    finding: `${service_id} (${service}) could not be restored: ${drill_error}`,
    remedy: 'take a snapshot, look after its disk, and try again with howdah service drill',
  }))
}
