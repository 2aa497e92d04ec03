// What the server copies off this host, and takes back to it.
import { foldersOf } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import type { Backup } from '../../provider.ts'
import type { PostgresInstallation } from '../postgres/installation.ts'
import { drillService } from './drill.ts'
import { layReady } from '../snapshot/fetched.ts'
import { noteAll } from './note.ts'
import { leadsOn, restoreService } from './restore.ts'
import { listStagedSnapshots } from './homes.ts'
import { newStaged, stageAll } from './stage.ts'

export function newBackup(host: Machine & { installations: readonly PostgresInstallation[] }): Backup {
  const staged = newStaged()
  return {
    keys: [foldersOf(host.directory).authority],
    stageWal: (written) => stageAll(host, staged, written),
    listSnapshots: () => listStagedSnapshots(host),
    noteChecksums: (signal) => noteAll(host, staged, signal),
    drill: (service_id, options) => drillService(host, service_id, { staged, ...options }),
    leadsOn,
    layReady: (service_id, laying) => layReady(host, service_id, laying),
    restore: (service) => restoreService(host, service),
  }
}
