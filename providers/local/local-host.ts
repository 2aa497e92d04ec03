// The host as observed when the provider was opened: what its parts are given. Only the files that wire them know it whole.
import { mkdir } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { resolve } from 'node:path'
import { isHostRoot, mayGiveUsers } from '../host/privilege.ts'
import { findClosedAbove, isDiskFull, statIfThere } from '../host/read.ts'
import { unprivileged } from '../host/user-map.ts'
import { ownUserName } from '../host/user-name.ts'
import { ensureFolder, newEffect, type Effect } from './host/effect.ts'
import { newJobs } from './host/jobs.ts'
import { foldersOf, tooLongSentence } from './host/layout.ts'
import { openLimits } from './host/limits.ts'
import { newProcessorTime } from './host/processor-time.ts'
import { openReserve } from './host/reserve.ts'
import { log_retention_default, type LogRetention, rotationMbOf } from './log/retention.ts'
import { type LagReader, newLagReader } from './metric/lag-reader.ts'
import { newNetworksOwner } from './network/owner-process.ts'
import { ensureAuthority } from './postgres/authority.ts'
import { ensureControlFiles } from './postgres/control-files.ts'
import { findInstallations, type PostgresInstallation } from './postgres/installation.ts'
import { newSpares, spare_job } from './postgres/spare.ts'
import { ensureTemplate, onceEach } from './postgres/template.ts'
import { accessOf } from './quota/access.ts'
import { newDiskSpaceWatch } from './quota/disk-space-watch.ts'
import { newGrowth } from './quota/growth.ts'
import { openProjects } from './quota/project.ts'
import { quotaBytesOf } from './quota/rules.ts'
import { measureService } from './quota/usage.ts'
import { newQuotaWatch } from './quota/watch.ts'
import type { ServiceHost } from './service/service-host.ts'
import { vpc_ranges_default } from './vpc/ranges.ts'
import { networkRefusalOnce } from './vpc/refusal.ts'
import type { VpcHost } from './vpc/vpc.ts'
import { newWatches } from './watches.ts'

export type LocalOptions = {
  directory: string
  host: string
  ports: { first: number; last: number }
  /** Where other regions reach the services; absent: they do not. */
  copy_host?: string | undefined
  postgres_directories: readonly string[]
  /** Those that another provider of this process has found; by default each provider tries the programs itself. */
  installations?: readonly PostgresInstallation[]
  installation_id: string
  log_retention?: LogRetention
  /** In which the range of every VPC lies. */
  vpc_ranges?: readonly string[]
  /** Addresses outside this host that no VPC may have, because the server needs them. */
  needed_addresses?: readonly string[]
  /** GB of disk that a service may take for each GB of its memory; 0 and by default: as much as there is. */
  disk_quota?: number
  /** How many copies of the template lie ready at rest: 1 by default, 0 for tests that would only remove them again. */
  spares?: 0 | 1
  /** Called with its name before every change of the world; the crash tests kill the process there. */
  effect?: (name: string) => void | Promise<void>
  log: (fact: object, message: string) => void
}

export type LocalHost = ServiceHost &
  VpcHost & {
    log_retention: LogRetention
    lag_reader: LagReader
    closeWatches(): void
  }

export async function openHost(options: LocalOptions): Promise<LocalHost> {
  const directory = resolve(options.directory)
  const too_long = tooLongSentence(directory)
  if (too_long !== undefined) throw new Error(too_long)
  const { installation_id, log_retention = log_retention_default, disk_quota = 0 } = options
  const effect = newEffect(options.effect)
  const as_root = mayGiveUsers()
  const folders = foldersOf(directory)
  await ensureFolders(effect, directory, as_root)
  const [authority, limits, installations] = await Promise.all([
    ensureAuthority(folders.authority),
    openLimits(installation_id),
    openInstallations(effect, directory, options, as_root),
  ])
  const template = onceEach((installation) => ensureTemplate(effect, directory, installation, as_root))
  const disk = await openDisk({ effect, directory, limits, disk_quota })
  const lag_reader = newLagReader()
  const jobs = newJobs()
  const spares = newSpares(options.spares)
  const makeSpare = async (installation: PostgresInstallation, signal: AbortSignal) => {
    try {
      await spares.ensureOne(effect, await template(installation), signal)
    } catch (error) {
      // A copy of the template is not worth the last of the disk space.
      if (!signal.aborted && !isDiskFull(error)) options.log({ err: error }, 'no copy of the template lies ready')
    }
  }
  return {
    directory,
    installation_id,
    as_root,
    effect,
    authority,
    limits,
    installations,
    control_plane_user: ownUserName(),
    memory_mb: Math.floor(totalmem() / 1024 ** 2),
    template,
    spares,
    beginSpare: () => {
      const [newest] = installations
      if (newest) jobs.begin(spare_job, (signal) => makeSpare(newest, signal))
    },
    log_retention,
    log_rotation_mb: rotationMbOf(log_retention),
    ...disk,
    ...newWatches({ effect, log_retention, lag_reader, ...disk }),
    quotaBytesOf: (size) => quotaBytesOf(size, disk_quota),
    accessOf: (service_id) => accessOf(disk, service_id),
    lag_reader,
    networks_owner: newNetworksOwner({ directory, effect }),
    vpc_ranges: {
      vpc_ranges: options.vpc_ranges ?? vpc_ranges_default,
      needed_addresses: options.needed_addresses ?? [],
    },
    networkRefusal: networkRefusalOnce,
    jobs,
  }
}

/** Databases go on running. */
export async function closeHost(host: LocalHost): Promise<void> {
  host.closeWatches()
  await host.lag_reader.close()
  await host.jobs.close()
}

async function openInstallations(effect: Effect, directory: string, options: LocalOptions, as_root: boolean) {
  const uid = as_root ? unprivileged.uid : undefined
  const reachable = { copies_directory: foldersOf(directory).copies, uid }
  const installations: PostgresInstallation[] = []
  for (const each of options.installations ?? (await findInstallations(options.postgres_directories, reachable))) {
    installations.push({ ...each, settings: await ensureControlFiles(effect, directory, each, uid) })
  }
  return installations
}

type DiskSpec = Pick<LocalHost, 'effect' | 'directory' | 'limits' | 'disk_quota'>

async function openDisk({ effect, directory, limits, disk_quota }: DiskSpec) {
  const processorTime = newProcessorTime(limits)
  const projects = disk_quota > 0 && isHostRoot() ? await openProjects(effect, directory) : undefined
  return {
    disk_quota,
    projects,
    disk_space_watch: newDiskSpaceWatch(directory, newGrowth(processorTime), openReserve(directory)),
    quota_watch: newQuotaWatch({ measure: (node) => measureService(projects, node), processorTime }),
  }
}

/** As root, PostgreSQL's users pass through our folders to their own, but cannot list them. */
async function ensureFolders(effect: Effect, directory: string, as_root: boolean): Promise<void> {
  const mode = as_root ? 0o711 : 0o700
  if (!(await statIfThere(directory))) {
    await effect('provider folder: make')
    await mkdir(directory, { recursive: true, mode })
  }
  const { templates, services, run, wanted, turns } = foldersOf(directory)
  for (const folder of [directory, templates, services, run]) {
    await ensureFolder(effect, 'provider folder', folder, mode)
  }
  for (const folder of [wanted, turns]) await ensureFolder(effect, 'provider folder', folder, 0o700)
  const closed = as_root ? findClosedAbove(directory) : undefined
  if (closed === undefined) return
  throw new Error(
    `${closed} lets no other user pass, and as root PostgreSQL runs as another user; ` +
      `allow it with chmod o+x ${closed}, or choose another data directory than ${directory}`,
  )
}
