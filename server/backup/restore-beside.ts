// One service of the repository as a new one beside those that there are: its data is fetched first, under the new id, and then the
// service is wanted like any other. Until that moment nothing knows of it, so a command that is killed has done nothing.
import type { BackupTarget } from '../backup-target.ts'
import type { Config } from '../config.ts'
import { newId } from '../id.ts'
import type { Installation } from '../installation.ts'
import type { Log } from '../log.ts'
import { openRegions } from '../regions.ts'
import { insertMade } from '../service/make.ts'
import { findService, type NewService, type ServiceRow } from '../service/store.ts'
import type { Db } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import { fetchService } from './fetch.ts'
import { type Place, refuseMissingFolder, RepositoryRefused, resticOf } from './repository.ts'
import { listRuns, type Restic, type Run } from './restic.ts'
import { snapshotsBefore } from './restore-plan.ts'

export type BesideSpec = {
  config: Config
  installation: Installation
  db: Db
  from: BackupTarget
  service_id: string
  /** Absent: the newest that there is. */
  at?: Date | undefined
  log: Log
  /** For the person who waits. */
  tell: (line: string) => void
}

export async function restoreBeside(spec: BesideSpec): Promise<ServiceRow> {
  const { config, installation, db, from, service_id, at, tell } = spec
  const { data_dir, aws_access_key_id, aws_secret_access_key } = config
  await refuseMissingFolder(from)
  const secrets = { aws_access_key_id, aws_secret_access_key }
  const place: Place = { data_dir, installation_id: installation.installation_id, target: from, secrets }
  const restic = resticOf(place)
  const runs = await listRuns(restic)
  const { password_verifier, project_id, name, ...former } = await formerOf(restic, runs, service_id, at)
  const [project] = await db.query(sql<{ there: boolean }>`select true as there from projects where id = ${project_id}`)
  if (project === undefined) throw new RepositoryRefused(`its project ${project_id} is no longer there`)
  await using opened = new AsyncDisposableStack()
  const regions = await openRegions({ config, installation, log: spec.log, spares: 0 }, opened)
  const provider = regions.get(former.region_code)
  const backup = provider?.backup
  if (provider === undefined || backup === undefined) {
    throw new RepositoryRefused(
      `its region ${former.region_code} is not served here, or takes nothing from a repository`,
    )
  }
  const new_id = newId()
  tell(`Fetching ${service_id} (${name}), to become ${new_id}.`)
  await backup.layReady(new_id, {
    fetch: async (folder) => {
      const fetched = await fetchService({ restic, runs, service_id, at, folder, backup })
      return { ...fetched, ...(at && { at: at.toISOString() }) }
    },
    isWanted: async (id) => (await findService(db, id)) !== undefined,
  })
  const wanted = { ...former, name: `${Array.from(name).slice(0, 119).join('')}-restored` }
  const event = `created as ${wanted.name}, restored from the backup of ${service_id}${at ? `, as of ${at.toISOString()}` : ''}`
  const identity = { service_id: new_id, password_verifier: Promise.resolve(password_verifier) }
  return await db.transaction((tx) => insertMade(tx, { provider, project_id, wanted, event }, identity))
}

type Former = Omit<NewService, 'service_id' | `source_${string}`>

/** As it was when its snapshot was taken, or the first time after that its metadata was copied. */
async function formerOf(
  restic: Restic,
  runs: readonly Run[],
  service_id: string,
  at: Date | undefined,
): Promise<Former> {
  const snapshot = snapshotsBefore(runs, at)[service_id]?.[0]
  if (snapshot === undefined) throw new RepositoryRefused(`no snapshot of ${service_id} is in the repository`)
  const meta = runs.filter(({ tags }) => tags.includes('meta'))
  const taken_at = new Date(snapshot.taken_at)
  const chosen = meta.find(({ time }) => time >= taken_at) ?? meta.at(-1)
  if (chosen === undefined) throw new RepositoryRefused('the repository has no backup yet')
  const words = ['dump', '--no-lock', chosen.id, '/backup/meta/services.jsonl']
  const lines = (await restic(words, { timeout_seconds: 600 })).split('\n').filter(Boolean)
  const rows = lines.map((line) => JSON.parse(line) as Former & { service_id: string }) // as our own table has it
  const row = rows.find((one) => one.service_id === service_id)
  if (row === undefined) throw new RepositoryRefused(`the metadata of ${service_id} is not in the repository`)
  const { name, project_id, region_code, service_type, environment, cpu_millis, memory_gbs, extensions } = row
  const kept = { name, project_id, region_code, service_type, environment, cpu_millis, memory_gbs, extensions }
  return { ...kept, password_verifier: row.password_verifier }
}
