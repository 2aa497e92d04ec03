// An installation, brought back from its repository into an empty data directory: metadata, keys and every service with its snapshot and
// WAL. What is fetched lies in one folder until all of it is in place, and no server starts meanwhile. Every step is done or not done on
// the disk, so a restore that was interrupted is repeated and goes on.
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFileSystem } from '#providers/host/sync.ts'
import { inLanes } from '#providers/host/together.ts'
import type { Config } from '../config.ts'
import { findInstallationId, openInstallation, restoringOf } from '../installation.ts'
import type { Log } from '../log.ts'
import { openRegions } from '../regions.ts'
import { openAnyStore } from '../store/access.ts'
import type { Db } from '../store/db.ts'
import { stopMetadataStore } from '../store/embedded.ts'
import { migrate } from '../store/migrate.ts'
import { sql } from '../store/sql.ts'
import type { BackupTarget } from '../backup-target.ts'
import { newDeadLocks, whenUnlocked } from './dead-locks.ts'
import { ensureRestored } from './fetch.ts'
import { loadMetadata, servicesOfCopy, type ServiceOfCopy } from './metadata.ts'
import {
  claimRepository,
  ensureDailyKeyAdded,
  openToRestore,
  type Place,
  refuseMissingFolder,
  RepositoryRefused,
} from './repository.ts'
import { listRuns, newLists } from './restic.ts'
import { plan_version, planOf, type RestorePlan } from './restore-plan.ts'
import { keepOnly } from './restore-rows.ts'
import { putService, type Restored, walIn } from './restore-service.ts'
import { replaceWhole } from '../whole-file.ts'

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
  /** When the keys are in place: an isolated installation goes on inside. */
  enter: () => Promise<void>
}

/** While one service is put in place, the next one is fetched. */
const services_at_once = 3
/** Also where deleted services are not kept: those that were should not be lost before the operator has looked after the restore. */
const kept_seconds_min = 86_400

export async function restoreInstallation(spec: RestoreSpec): Promise<void> {
  const { config, from, tell } = spec
  const { data_dir } = config
  await refuseOther(data_dir)
  await refuseMissingFolder(from)
  const folder = restoringOf(data_dir)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if (!(await isOver(folder, data_dir))) await restoreInto(spec, folder)
  await removeFetched(folder)
  const flags = `--data-dir ${data_dir} --backup-to ${spec.services.length > 0 ? 'another place' : from.text}`
  tell(`Restored into ${data_dir}. howdah start ${flags} runs it; its databases recover then.`)
}

/** What is there is a restore that goes on, or nothing. */
async function refuseOther(data_dir: string): Promise<void> {
  const names = await readdir(data_dir).catch((): string[] => [])
  if (names.includes('restoring') || names.every((name) => name === 'lost+found')) return
  throw new RepositoryRefused(
    `${data_dir} is not empty (it has ${names[0]}); choose an empty directory with --data-dir`,
  )
}

const over = 'done'

/** Every service is in place, and the fetched files are being removed. */
async function isOver(folder: string, data_dir: string): Promise<boolean> {
  const names = await readdir(folder)
  return names.includes(over) || (names.length === 0 && (await findInstallationId(data_dir)) !== undefined)
}

/** The sign that it is over goes last: a folder that is half removed is never taken for a fetched one. */
async function removeFetched(folder: string): Promise<void> {
  const names = await readdir(folder)
  for (const name of names.filter((one) => one !== over)) await rm(join(folder, name), { recursive: true })
  await rm(folder, { recursive: true })
}

async function restoreInto(spec: RestoreSpec, folder: string): Promise<void> {
  const { config, from, tell } = spec
  const { data_dir, aws_access_key_id, aws_secret_access_key } = config
  const secrets = { aws_access_key_id, aws_secret_access_key }
  const place: Place = { data_dir, installation_id: '', target: from, secrets }
  const locks = newDeadLocks()
  const { restic, by_daily_key } = await openToRestore(place, spec.recovery_key, locks)
  const runs = await listRuns(restic)
  const plan = await ensurePlan(folder, spec, () => planOf(runs, spec))
  const meta = metaIn(folder)
  await ensureRestored(restic, plan.meta, meta)
  tell(`Metadata of ${plan.meta_time}.`)
  const copy = join(meta, 'backup', 'meta')
  const wanted = await chosenIn(folder, await servicesOfCopy(copy), spec.services)
  await putKeys(meta, data_dir)
  await spec.enter()
  const installation = await openInstallation(data_dir, 'restore')
  const store = await openAnyStore(config, installation, spec.log)
  await using opened = new AsyncDisposableStack()
  opened.defer(async () => {
    await store.close()
    if (store.kind === 'embedded') await stopMetadataStore({ directory: installation.store_directory })
  })
  await ensureLoaded(store.db, copy, folder, config.database_url !== undefined)
  if (plan.wal !== undefined) await ensureRestored(restic, plan.wal, walIn(folder))
  const regions = await openRegions({ config, installation, log: spec.log, spares: 0 }, opened)
  const lists = newLists(restic)
  const restored: Restored[] = []
  const begun = performance.now()
  let count = 0
  const bringBack = async (service: ServiceOfCopy) => {
    const backup = regions.get(service.region_code)?.backup
    const put = backup && (await putService({ restic, lists, runs, plan, folder, backup, ...service }))
    count += 1
    const label = `${service.service_id} (${service.name}), ${count} of ${wanted.length}`
    if (put === undefined) {
      tell(`Service ${label}: no snapshot in the repository leads to that moment; it is lost.`)
      return
    }
    const { gap, ...one } = put
    restored.push(one)
    const left_seconds = ((performance.now() - begun) / count / 1000) * (wanted.length - count)
    const left = left_seconds < 1 ? '' : ` About ${Math.ceil(left_seconds)} s are left.`
    tell(`Service ${label}: in place.${gap === undefined ? '' : ` ${gap}; it recovers up to there.`}${left}`)
  }
  await inLanes(wanted, bringBack, services_at_once)
  const kept_seconds = Math.max(config.undelete, kept_seconds_min)
  const facts = await keepOnly(store.db, { restored, moment: plan.at ?? plan.meta_time, kept_seconds })
  for (const fact of facts) tell(fact)
  // Part of an installation does not take the repository away from the whole.
  if (spec.services.length === 0) {
    const onWait = () => tell('Another process has locked the repository. Should it be dead, that ends within minutes.')
    await whenUnlocked(restic, { locks, onWait }, async () => {
      if (!by_daily_key) await ensureDailyKeyAdded(place, restic)
      await claimRepository({ ...place, installation_id: installation.installation_id })
    })
  }
  await syncFileSystem(data_dir)
  await writeFile(join(folder, over), '', { flush: true })
}

/** Deleted ones that are kept come back, too. Nothing is in place yet, and a misspelt id does not bind the next attempt. */
async function chosenIn(folder: string, services: readonly ServiceOfCopy[], chosen: readonly string[]) {
  const there = services.filter(({ removed }) => !removed)
  const unknown = chosen.find((service_id) => !there.some((one) => one.service_id === service_id))
  if (unknown !== undefined) {
    // By one rename: a folder that is half removed would be taken for a fetched one.
    const aside = `${metaIn(folder)}.new`
    await rename(metaIn(folder), aside)
    await rm(aside, { recursive: true })
    await rm(planIn(folder))
    throw new RepositoryRefused(
      `there is no service ${unknown} in the backup of that moment; --list says which there are`,
    )
  }
  return there.filter(({ service_id }) => chosen.length === 0 || chosen.includes(service_id))
}

const metaIn = (folder: string) => join(folder, 'meta')
const planIn = (folder: string) => join(folder, 'plan.json')

/** Of several attempts all do what the first one chose, however the repository grows. */
async function ensurePlan(
  folder: string,
  { at, services }: RestoreSpec,
  make: () => RestorePlan,
): Promise<RestorePlan> {
  const path = planIn(folder)
  if (!existsSync(path)) await replaceWhole(path, JSON.stringify(make()))
  const plan = JSON.parse(await readFile(path, 'utf8')) as RestorePlan // written above, in one piece
  if (plan.version !== plan_version) {
    throw new RepositoryRefused(
      'a restore by another version of Howdah began there; go on with that version, or choose an empty directory',
    )
  }
  if (plan.at !== at?.toISOString() || plan.services.join() !== services.join()) {
    const words = [...(plan.at ? [`--at ${plan.at}`] : []), ...plan.services.map((id) => `--service ${id}`)]
    throw new RepositoryRefused(
      `a restore with other options began there (${words.join(' ') || 'neither --at nor --service'}); repeat that one, or choose an empty directory`,
    )
  }
  return plan
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
  if (existsSync(loaded)) return void (await migrate(db))
  if (is_external && !existsSync(loading)) {
    const [found] = await db.query(sql<{ there: boolean }>`select to_regclass('migrations') is not null as there`)
    if (found?.there) throw new RepositoryRefused('the database of DATABASE_URL is not empty; name an empty one')
  }
  await writeFile(loading, '')
  // An outside store keeps what it is told, whatever becomes of this machine.
  await syncFileSystem(folder)
  await loadMetadata(db, copy)
  await writeFile(loaded, '')
  await migrate(db)
}
