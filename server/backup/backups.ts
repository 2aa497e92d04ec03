// The backups of a running server: makes them, where a target is set, and knows how far those of each service are.
import { existsSync, readFileSync, statSync } from 'node:fs'
import type { Config } from '../config.ts'
import { insertEvent } from '../event.ts'
import type { Installation } from '../installation.ts'
import type { Log } from '../log.ts'
import type { Regions } from '../regions.ts'
import type { Settled } from '../settled.ts'
import type { Db } from '../store/db.ts'
import { backupFilesOf, type BackupState, type Protection } from './backup-files.ts'
import { type Fetch, startDrills } from './drills.ts'
import { newProofFetch } from './fetch-proof.ts'
import type { Place } from './repository.ts'
import { startBackups } from './runner.ts'

type Parts = {
  config: Pick<Config, 'backup_to' | 'backup_lag' | 'aws_access_key_id' | 'aws_secret_access_key'>
  installation: Installation
  db: Db
  providers: Regions
  log: Log
  settled: Settled
}

export type BackupsKnown = {
  /** Undefined without backups, and of a service that none has found yet. */
  of(service_id: string): Protection | undefined
  lags(): { service_id: string; seconds: number }[]
  /** For the operator, a sentence each. */
  warnings: readonly string[]
}

/** How long the file is taken for unchanged. */
const reread_ms = 1_000

export function openBackups(parts: Parts, opened: AsyncDisposableStack): BackupsKnown {
  const { config, installation, db, providers, log, settled } = parts
  const files = backupFilesOf(installation.data_dir)
  const drillWith = (fetch?: Fetch) => {
    const drills = startDrills({ db, regions: providers, log, settled, folder: files.drill, fetch })
    opened.defer(() => drills.close())
  }
  if (config.backup_to === undefined) {
    drillWith()
    return { of: () => undefined, lags: () => [], warnings: [] }
  }
  const end = new AbortController()
  const { aws_access_key_id, aws_secret_access_key } = config
  const place: Place = {
    data_dir: installation.data_dir,
    installation_id: installation.installation_id,
    target: config.backup_to,
    secrets: { aws_access_key_id, aws_secret_access_key },
    signal: end.signal,
  }
  const backups = startBackups({
    place,
    db,
    regions: providers,
    log,
    lag_seconds: config.backup_lag,
    onLate: (service_id, message) => db.transaction((tx) => insertEvent(tx, service_id, 'backup', message)),
  })
  opened.defer(async () => {
    end.abort()
    await backups.close()
  })
  drillWith(newProofFetch(place, config.backup_lag, () => backups.copyNow()))
  const to_make = `no backup is made before its repository is: howdah admin backup init --backup-to ${config.backup_to.text}`
  return { ...newReader(files.state), warnings: existsSync(files.repository) ? [] : [to_make] }
}

/** Another server of the installation may make the backups: its file tells all of them. */
function newReader(path: string): Omit<BackupsKnown, 'warnings'> {
  let known: Pick<BackupState, 'problem' | 'services'> & { mtime_ms: number } = { mtime_ms: 0, services: {} }
  let read_at = -Infinity
  const read = () => {
    if (performance.now() - read_at < reread_ms) return known
    read_at = performance.now()
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats !== undefined && stats.mtimeMs !== known.mtime_ms) {
      const { problem, services } = JSON.parse(readFileSync(path, 'utf8')) as BackupState // replaced whole by saveState
      known = { mtime_ms: stats.mtimeMs, problem, services }
    }
    return known
  }
  return {
    of: (service_id) => {
      const { services, problem: of_all } = read()
      const own = services[service_id]
      const problem = own?.problem ?? of_all
      return own && { ...own, ...(problem !== undefined && { problem }) }
    },
    lags: () =>
      Object.entries(read().services).flatMap(([service_id, { wal_until }]) =>
        wal_until === undefined
          ? []
          : [{ service_id, seconds: Math.max(0, (Date.now() - Date.parse(wal_until)) / 1000) }],
      ),
  }
}
