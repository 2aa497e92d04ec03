// The provider that runs PostgreSQL as daemons on this host, below one directory. Opening it observes what the host
// can do; closing it releases everything but the databases, which go on running and are found again by the next server.
import { mkdir, stat } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { dirname, resolve } from 'node:path'
import type { Pass, Provider } from '../provider.ts'
import { addressesFor } from './addresses.ts'
import { newBackup } from './backup/backup.ts'
import { openFacts } from './facts.ts'
import { newKinds } from './service/kinds.ts'
import { ensureAuthority } from './postgres/authority.ts'
import { ensureFolder, newEffect, type Effect } from './host/effect.ts'
import { isDiskFull, statIfThere } from '../host/read.ts'
import { findInstallations, type PostgresInstallation } from './postgres/installation.ts'
import { newJobs } from './host/jobs.ts'
import { unprivileged } from '../host/user-map.ts'
import { ownUserName } from '../host/user-name.ts'
import { foldersOf, type Node, tooLongSentence } from './host/layout.ts'
import { openLimits } from './host/limits.ts'
import type { LocalHost } from './local-host.ts'
import { log_retention_default, type LogRetention, rotationMbOf } from './log/retention.ts'
import { readLogs, readLogTail } from './log/logs.ts'
import { newLagReader } from './metric/lag-reader.ts'
import { newMeter } from './metric/metrics.ts'
import { readHostUse, type VpcRanges, vpc_ranges_default } from './vpc/ranges.ts'
import { networkRefusalOnce } from './vpc/refusal.ts'
import { ensureControlFiles } from './postgres/control-files.ts'
import { applyInTurn, applySetInTurn, healInTurn } from './service/in-turn.ts'
import { newGrowth } from './quota/growth.ts'
import { newProcessorTime } from './host/processor-time.ts'
import { openProjects } from './quota/project.ts'
import { quotaBytesOf } from './quota/rules.ts'
import { accessOf } from './quota/access.ts'
import { runQuery } from './query/query.ts'
import { measureService } from './quota/usage.ts'
import { newQuotaWatch } from './quota/watch.ts'
import { isHostRoot, mayGiveUsers } from '../host/privilege.ts'
import { openReserve } from './host/reserve.ts'
import { newDiskSpaceWatch } from './quota/disk-space-watch.ts'
import { ensureWrites } from './service/writes.ts'
import { stopAll } from './stop-all.ts'
import { newSpares, spare_job } from './postgres/spare.ts'
import { ensureTemplate, onceEach, removeOldTemplates } from './postgres/template.ts'
import { newNetworksOwner } from './network/owner-process.ts'
import { listVpcs } from './network/network.ts'
import { applyVpc } from './vpc/vpc.ts'
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

export type LocalProvider = Provider & {
  authority_pem: string
  installations: readonly PostgresInstallation[]
  /** Stops every database below the directory, cleanly. */
  stopAll(): Promise<void>
}

export async function openLocalProvider(options: LocalOptions): Promise<LocalProvider> {
  const host_use = readHostUse()
  const host = await openHost(options)
  const [facts, kinds] = [await openFacts({ ...host, copy_host: options.copy_host }, host_use), newKinds(host)]
  // A pass may be under way that takes seconds, in which a disk gets full. The next pass repeats what fails here.
  const applyAccess = (node: Node) => ensureWrites(host, node).catch(() => undefined)
  host.disk_space_watch.onChange(applyAccess)
  host.quota_watch.onChange((node) => void applyAccess(node))
  // The first create need not wait for it; the pass that needs the template meets the failure again and reports it.
  const prepared = prepareTemplates(host).catch((error: unknown) =>
    options.log({ err: error }, 'template not prepared'),
  )
  return {
    facts: facts.now,
    authority_pem: host.authority.certificate_pem,
    installations: host.installations,
    addresses: (use) => addressesFor(options, use),
    service: {
      refusal: facts.serviceRefusal,
      apply: (wanted, pass) => applyInTurn(hostFor(host, pass), wanted),
      list: () => kinds.list('service'),
      query: (service_id, spec) => runQuery(host, service_id, spec),
    },
    replica_set: {
      refusal: facts.replicaSetRefusal,
      apply: (wanted, pass) => applySetInTurn(hostFor(host, pass), wanted),
      list: () => kinds.list('replica set'),
    },
    vpc: {
      refusal: ({ cidr }) => facts.rangeRefusal(cidr),
      apply: (wanted, pass) => applyVpc(hostFor(host, pass), wanted),
      list: async () => (await listVpcs(host)).map((id) => ({ id, down: false })),
    },
    heal: (id) => healInTurn(host, id),
    metrics: newMeter(host),
    logs: {
      page: (id, query) => readLogs(host, id, query),
      tail: (id, query) => readLogTail(host, id, query),
    },
    watch: (onNews) => {
      const tell = async (id: string) => onNews(await kinds.of(id), id)
      const onChange = (id: string) => void tell(id)
      host.watch.onChange(onChange)
      host.archive_watch.onStall(onChange)
      host.jobs.onEnd(onChange)
      host.balance_watch.onMissing(onChange)
      host.disk_space_watch.onChange(({ service_id }) => onChange(service_id))
      host.quota_watch.onChange(({ service_id }, is_news) => is_news && onChange(service_id))
      host.vpc_watch.onServiceChange(onChange)
      host.vpc_watch.onChange((vpc_id) => onNews('vpc', vpc_id))
    },
    backup: newBackup(host),
    stopAll: () => stopAll(host),
    close: async () => {
      await Promise.all([facts.close(), closeHost(host)])
      await prepared
    },
  }
}

async function closeHost(host: LocalHost): Promise<void> {
  host.closeWatches()
  await host.lag_reader.close()
  await host.jobs.close()
}

/** After the pass is aborted no effect begins. */
function hostFor(host: LocalHost, pass: Pass | undefined): LocalHost {
  if (pass === undefined) return host
  const { signal } = pass
  return {
    ...host,
    effect: async (name) => {
      signal.throwIfAborted()
      await host.effect(name)
    },
  }
}

async function prepareTemplates(host: LocalHost): Promise<void> {
  const { effect, directory, installations } = host
  await removeOldTemplates(effect, directory, installations)
  if (installations[0]) await host.template(installations[0])
}

async function openHost(options: LocalOptions): Promise<LocalHost> {
  const directory = resolve(options.directory)
  const too_long = tooLongSentence(directory)
  if (too_long !== undefined) throw new Error(too_long)
  const effect = newEffect(options.effect)
  const log_retention = options.log_retention ?? log_retention_default
  const as_root = mayGiveUsers()
  const folders = foldersOf(directory)
  await ensureFolders(effect, directory, as_root)
  const [authority, limits, installations] = await Promise.all([
    ensureAuthority(folders.authority),
    openLimits(options.installation_id),
    openInstallations(effect, directory, options, as_root),
  ])
  const template = onceEach((installation) => ensureTemplate(effect, directory, installation, as_root))
  const disk = await openDisk({ effect, directory, limits, disk_quota: options.disk_quota ?? 0 })
  const [lag_reader, jobs, spares] = [newLagReader(), newJobs(), newSpares(options.spares)]
  const makeSpare = (installation: PostgresInstallation, signal: AbortSignal) =>
    template(installation)
      .then((path) => spares.ensureOne(effect, path, signal))
      .catch((error: unknown) => {
        // A copy of the template is not worth the last of the disk space.
        if (!signal.aborted && !isDiskFull(error)) options.log({ err: error }, 'no copy of the template lies ready')
      })
  return {
    directory,
    installation_id: options.installation_id,
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
    quotaBytesOf: (size) => quotaBytesOf(size, disk.disk_quota),
    accessOf: (service_id) => accessOf(disk, service_id),
    lag_reader,
    networks_owner: newNetworksOwner({ directory, effect }),
    vpc_ranges: vpcRangesOf(options),
    networkRefusal: networkRefusalOnce,
    jobs,
  }
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

const vpcRangesOf = ({ vpc_ranges = vpc_ranges_default, needed_addresses = [] }: LocalOptions): VpcRanges => ({
  vpc_ranges,
  needed_addresses,
})

type DiskSpec = Pick<LocalHost, 'effect' | 'directory' | 'limits' | 'disk_quota'>

/** What enforces and watches quotas and disk space. */
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
  if (!as_root) return
  for (let folder = dirname(directory); ; folder = dirname(folder)) {
    if (((await stat(folder)).mode & 0o001) === 0) {
      throw new Error(
        `${folder} lets no other user pass, and as root PostgreSQL runs as another user; ` +
          `allow it with chmod o+x ${folder}, or choose another data directory than ${directory}`,
      )
    }
    if (folder === dirname(folder)) return
  }
}
