// An installation, brought back from its repository into an empty data directory: metadata, keys and every service with its snapshot and
// WAL. What is fetched lies in one folder until all of it is in place, and no server starts meanwhile. Every step is done or not done on
// the disk, so a restore that was interrupted is repeated and goes on.
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Backup } from '#providers/provider.ts'
import type { Config } from '../config.ts'
import { openInstallation, restoringOf } from '../installation.ts'
import type { Log } from '../log.ts'
import { openRegions } from '../regions.ts'
import { openAnyStore } from '../store/access.ts'
import type { Db } from '../store/db.ts'
import { stopMetadataStore } from '../store/embedded.ts'
import { sql } from '../store/sql.ts'
import type { BackupTarget } from '../backup-target.ts'
import { loadMetadata, servicesOfCopy, type ServiceOfCopy } from './metadata.ts'
import {
  addDailyKey,
  claimRepository,
  type Place,
  refuseMissingFolder,
  RepositoryRefused,
  resticOf,
} from './repository.ts'
import { listRuns, type Restic, type Run } from './restic.ts'
import { planOf, type RestorePlan } from './restore-plan.ts'
import { ensureWalFrom } from './restore-wal.ts'

export type RestoreSpec = {
  config: Config
  from: BackupTarget
  /** Absent: the key of the data directory opens the repository, because an earlier attempt added it. */
  recovery_key?: string | undefined
  /** Absent: the newest that there is. */
  at?: Date | undefined
  /** Empty: all. */
  services: readonly string[]
  log: Log
  /** For the person who waits. */
  tell: (line: string) => void
}

const restore_timeout_seconds = 24 * 3600

export async function restoreInstallation(spec: RestoreSpec): Promise<void> {
  const { config, from, tell } = spec
  const { data_dir } = config
  await refuseOther(data_dir)
  refuseMissingFolder(from)
  const folder = restoringOf(data_dir)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if (!existsSync(join(folder, 'done'))) await restoreInto(spec, folder)
  await rm(folder, { recursive: true })
  tell(`Restored into ${data_dir}. howdah start --backup-to ${from.text} runs it; its databases recover then.`)
}

/** What is there is a restore that goes on, or nothing. */
async function refuseOther(data_dir: string): Promise<void> {
  const names = await readdir(data_dir).catch((): string[] => [])
  if (names.includes('restoring') || names.every((name) => name === 'lost+found')) return
  throw new RepositoryRefused(
    `${data_dir} is not empty (it has ${names[0]}); choose an empty directory with --data-dir`,
  )
}

async function restoreInto(spec: RestoreSpec, folder: string): Promise<void> {
  const { config, from, tell } = spec
  const { data_dir, aws_access_key_id, aws_secret_access_key } = config
  const secrets = { aws_access_key_id, aws_secret_access_key }
  const place: Place = { data_dir, installation_id: '', target: from, secrets }
  if (spec.recovery_key !== undefined) await addDailyKey(place, spec.recovery_key)
  const restic = resticOf(place)
  const runs = await listRuns(restic)
  const plan = await ensurePlan(folder, () => planOf(runs, spec))
  const meta = join(folder, 'meta')
  await ensureRestored(restic, plan.meta, meta)
  tell(`Metadata of ${plan.meta_time}.`)
  await putKeys(meta, data_dir)
  const installation = await openInstallation(data_dir, 'restore')
  const copy = join(meta, 'backup', 'meta')
  const store = await openAnyStore(config, installation, spec.log)
  await using opened = new AsyncDisposableStack()
  opened.defer(async () => {
    await store.close()
    if (store.kind === 'embedded') await stopMetadataStore({ directory: installation.store_directory })
  })
  await ensureLoaded(store.db, copy, folder, config.database_url !== undefined)
  const wal = join(folder, 'wal')
  if (plan.wal !== undefined) await ensureRestored(restic, plan.wal, wal)
  const regions = await openRegions({ config, installation, log: spec.log, spares: 0 }, opened)
  const wanted = (await servicesOfCopy(copy)).filter(({ deleted }) => !deleted).filter(isChosen(spec.services))
  const restored: string[] = []
  const lost: string[] = []
  const begun = performance.now()
  for (const [at, service] of wanted.entries()) {
    const backup = regions.get(service.region_code)?.backup
    const snapshot = plan.snapshots[service.service_id]
    const label = `${service.service_id} (${service.name}), ${at + 1} of ${wanted.length}`
    if (backup === undefined || snapshot === undefined) {
      lost.push(service.service_id)
      tell(`Service ${label}: no snapshot of it is in the repository; it is lost.`)
      continue
    }
    const data = join(folder, `data-${snapshot.snapshot_id}`)
    await ensureRestored(restic, snapshot.run, data)
    const snapshot_folder = await findFolder(data, snapshot.snapshot_id)
    const gap = snapshot_folder && (await putService({ backup, restic, runs, plan, service, snapshot_folder, wal }))
    restored.push(snapshot.snapshot_id)
    const left_seconds = ((performance.now() - begun) / (at + 1) / 1000) * (wanted.length - at - 1)
    const left = left_seconds < 1 ? '' : ` About ${Math.ceil(left_seconds)} s are left.`
    tell(`Service ${label}: in place.${gap === undefined ? '' : ` ${gap}; it recovers up to there.`}${left}`)
  }
  await keepOnly(
    store.db,
    restored,
    wanted.filter(({ service_id }) => !lost.includes(service_id)),
  )
  await claimRepository({ ...place, installation_id: installation.installation_id })
  await writeFile(join(folder, 'done'), '')
}

type Put = {
  backup: Backup
  restic: Restic
  runs: readonly Run[]
  plan: RestorePlan
  service: ServiceOfCopy
  snapshot_folder: string
  /** The run of WAL that was fetched. */
  wal: string
}

async function putService({
  backup,
  restic,
  runs,
  plan,
  service,
  snapshot_folder,
  wal,
}: Put): Promise<string | undefined> {
  const { service_id, port } = service
  const folder = join(wal, 'local', 'services', service_id, 'backup')
  await ensureWalFrom({ restic, runs, before: plan.wal, service_id, snapshot_folder, folder })
  const wal_folders = { archive: join(folder, 'archive'), partial: join(folder, 'partial') }
  const snapshot_id = plan.snapshots[service_id]?.snapshot_id ?? ''
  return await backup.restore({ service_id, port, snapshot_id, snapshot_folder, wal_folders, at: plan.at })
}

const isChosen = (chosen: readonly string[]) => (one: ServiceOfCopy) =>
  chosen.length === 0 || chosen.includes(one.service_id)

/** Of several attempts all do what the first one chose, however the repository grows. */
async function ensurePlan(folder: string, make: () => RestorePlan): Promise<RestorePlan> {
  const path = join(folder, 'plan.json')
  if (!existsSync(path)) {
    await writeFile(`${path}.new`, JSON.stringify(make()), { mode: 0o600, flush: true })
    await rename(`${path}.new`, path)
  }
  return JSON.parse(await readFile(path, 'utf8')) as RestorePlan // written above, in one piece
}

/** A whole run below a folder of its own; as root, so that files get their owners. */
async function ensureRestored(restic: Restic, run: string, to: string): Promise<void> {
  if (existsSync(to)) return
  await rm(`${to}.new`, { recursive: true, force: true })
  const words = ['restore', run, '--no-lock', '--target', `${to}.new`]
  await restic(words, { timeout_seconds: restore_timeout_seconds, as_root: true })
  await rename(`${to}.new`, to)
}

/** Everything of the metadata run but the metadata itself. */
async function putKeys(meta: string, data_dir: string): Promise<void> {
  const names = await readdir(meta)
  for (const name of names.filter((one) => one !== 'backup')) {
    const to = join(data_dir, name)
    await mkdir(dirname(to), { recursive: true })
    await cp(join(meta, name), to, { recursive: true, preserveTimestamps: true, force: true })
  }
}

async function ensureLoaded(db: Db, copy: string, folder: string, is_external: boolean): Promise<void> {
  const [loading, loaded] = [join(folder, 'loading'), join(folder, 'loaded')]
  if (existsSync(loaded)) return
  if (is_external && !existsSync(loading)) {
    const [found] = await db.query(sql<{ there: boolean }>`select to_regclass('migrations') is not null as there`)
    if (found?.there) throw new RepositoryRefused('the database of DATABASE_URL is not empty; name an empty one')
  }
  await writeFile(loading, '')
  await loadMetadata(db, copy)
  await writeFile(loaded, '')
}

/** Undefined: it has been put in place. */
async function findFolder(data: string, snapshot_id: string): Promise<string | undefined> {
  const entries = await readdir(data, { recursive: true })
  const found = entries.find((path) => path.endsWith(`/snapshots/${snapshot_id}`))
  return found && join(data, found)
}

/** Snapshots that were not fetched are gone, and so are services without one: else an empty database would take their place. */
async function keepOnly(db: Db, snapshot_ids: readonly string[], services: readonly ServiceOfCopy[]): Promise<void> {
  const service_ids = services.map(({ service_id }) => service_id)
  await db.transaction(async (tx) => {
    await tx.query(sql`delete from snapshots where not (snapshot_id = any (${snapshot_ids}))`)
    await tx.query(sql`update services set deleted_at = now(), generation = generation + 1
      where deleted_at is null and not (service_id = any (${service_ids}))`)
  })
}
