// What this host supports, found by trying: the answer of `howdah doctor`.
// It removes what it makes. A missing feature is a fact with its remedy, never an exception.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { copyFile, mkdtemp, statfs, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir, totalmem } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '../host/message.ts'
import { errorCode } from '../host/read.ts'
import { newEffect } from './host/effect.ts'
import { removeTree } from './host/remove-tree.ts'
import { type PostgresInstallation, findInstallations, installationFor } from './postgres/installation.ts'
import { newIsolation, sharedUserFinding } from './isolation.ts'
import { openLimits } from './host/limits.ts'
import { isHostRoot, mayGiveUsers } from '../host/privilege.ts'
import { openProjects } from './quota/project.ts'
import { canCloseConnections } from './network/ip.ts'
import { networkLack } from './vpc/refusal.ts'
import { findProgram, system_env } from '../host/program.ts'

export type HostFact = { name: string; supported: boolean; finding: string; remedy?: string }

export async function hostFacts(options: {
  directory: string
  postgres_directories: readonly string[]
  /** Whether the data directory is isolated. */
  isolated?: boolean
  last_service_port?: number
}): Promise<HostFact[]> {
  // Before the first start the data directory does not exist; its parent lies on the same file system.
  const directory = nearestThere(resolve(options.directory))
  const tried = await Promise.all([
    userFact(options),
    copyOnWriteFact(directory),
    limitsFact(),
    namespacesFact(),
    programFact({ name: 'PgBouncer', program: 'pgbouncer', flag: '--version', need: 'poolers need it' }),
    programFact({ name: 'HAProxy', program: 'haproxy', flag: '-v', need: 'replica sets of several nodes need it' }),
    programFact({ name: 'iproute2', program: 'ip', flag: '-V', need: 'VPCs need it', debian_package: 'iproute2' }),
    programFact({ name: 'restic', program: 'restic', flag: 'version', need: 'backups (--backup-to) need it' }),
    programFact({ name: 'psql', program: 'psql', need: 'howdah service psql needs it', ...psql_package }),
    programFact({
      name: 'Chromium',
      program: 'chromium',
      need: 'only tests of the console need it',
    }),
    postgresFacts(options.postgres_directories),
    diskFact(directory),
    quotaFact(directory),
  ])
  const cores: HostFact = { name: 'cores', supported: true, finding: `${availableParallelism()}` }
  return [...tried.flat(), memoryFact(), cores]
}

const gib = 1024 ** 3
/** Below this a new service's data directory and its first WAL segments may not fit. */
const disk_bytes_wanted = gib
/** A program that takes this long to print its version hangs. */
const try_timeout_ms = 30_000

type Users = { isolated?: boolean; last_service_port?: number }

async function userFact({ isolated = false, last_service_port = 65_535 }: Users): Promise<HostFact> {
  const name = 'a user of its own for each service'
  if (isHostRoot()) return { name, supported: true, finding: 'running as root' }
  if (isolated) return { name, supported: true, finding: 'the data directory is isolated' }
  const made = await newIsolation(last_service_port)
  const isolate =
    'lack' in made
      ? `to use start --isolate: ${made.lack.finding}; ${made.lack.remedy}`
      : 'start a new data directory with --isolate, which this user’s sub ids allow'
  return {
    name,
    supported: false,
    finding: sharedUserFinding(),
    remedy: `${isolate}; or run the server as root, PostgreSQL itself never runs as root`,
  }
}

export async function copyOnWriteFact(directory: string): Promise<HostFact> {
  const name = 'copy-on-write'
  let attempt: string | undefined
  try {
    attempt = await mkdtemp(join(directory, '.howdah-doctor-'))
    await writeFile(join(attempt, 'source'), randomBytes(65_536))
    await copyFile(join(attempt, 'source'), join(attempt, 'copy'), constants.COPYFILE_FICLONE_FORCE)
    return { name, supported: true, finding: `files in ${directory} share their blocks with their copies` }
  } catch (error) {
    const remedy = attempt
      ? 'put the data directory on XFS or btrfs; until then services are copied in full'
      : 'make the directory writable for this user or choose another with --data-dir'
    return { name, supported: false, finding: `not in ${directory} (${errorCode(error) ?? messageOf(error)})`, remedy }
  } finally {
    if (attempt) await removeTree(attempt)
  }
}

async function limitsFact(): Promise<HostFact> {
  const limits = await openLimits(`doctor-${randomBytes(4).toString('hex')}`)
  return { name: 'CPU and memory limits', supported: limits.enforced, finding: limits.description }
}

async function namespacesFact(): Promise<HostFact> {
  const name = 'network namespaces'
  const lack = await networkLack()
  if (!lack) {
    const ending = (await canCloseConnections())
      ? ''
      : '; the kernel (CONFIG_INET_DIAG_DESTROY) cannot close connections over a deleted peering, which end by their own timeouts'
    return { name, supported: true, finding: `can be made, so services can be in VPCs${ending}` }
  }
  const { finding, remedy } = lack
  return { name, supported: false, finding: `no service can be in a VPC: ${finding}`, remedy }
}

type Needed = { name: string; program: string; flag?: string; need: string; debian_package?: string; repair?: string }

/** Debian's psql is a wrapper that may be there without a client that it could run: then that is what to install. */
const psql_package = { flag: '--version', debian_package: 'postgresql-client', repair: 'apt-get install' } as const

async function programFact(needed: Needed): Promise<HostFact> {
  const { name, program, flag, need, debian_package = program, repair = 'apt-get install --reinstall' } = needed
  const path = await findProgram(program)
  if (path === undefined) {
    return { name, supported: false, finding: 'not found', remedy: `apt-get install ${debian_package}; ${need}` }
  }
  if (flag === undefined) return { name, supported: true, finding: path }
  try {
    // A program may be a script that finds others by its PATH; root's finds those of the system.
    const env = mayGiveUsers() ? system_env : process.env
    const { stdout } = await promisify(execFile)(path, [flag], { timeout: try_timeout_ms, env })
    return { name, supported: true, finding: `${path}: ${stdout.trim().split('\n')[0]}` }
  } catch (error) {
    const remedy = `${repair} ${debian_package}; ${need}`
    return {
      name,
      supported: false,
      finding: `${path} does not run (${messageOf(error).trim().split('\n').at(-1)})`,
      remedy,
    }
  }
}

async function postgresFacts(postgres_directories: readonly string[]): Promise<HostFact[]> {
  // For this run alone; the server makes its own copies.
  const copies_directory = join(tmpdir(), `howdah-doctor-${randomBytes(6).toString('hex')}`)
  const find = (directories: readonly string[]) => findInstallations(directories, { copies_directory, uid: undefined })
  try {
    const { installations, problems } = await findLeniently(find, postgres_directories)
    const found = installations.map((each): HostFact => ({
      name: `PostgreSQL ${each.version}`,
      supported: true,
      finding: `${each.bin} (${each.origin})`,
    }))
    return [...found, ...problems, ...addon_extensions.map((each) => extensionFact(each, installations))]
  } finally {
    await removeTree(copies_directory)
  }
}

type Find = (directories: readonly string[]) => Promise<PostgresInstallation[]>

/** A wrong setting must not hide the installations that are found without it. */
async function findLeniently(
  find: Find,
  directories: readonly string[],
): Promise<{ installations: PostgresInstallation[]; problems: HostFact[] }> {
  const problem = { name: 'PostgreSQL', supported: false }
  const remedy = 'name directories with --postgres-directories or HOWDAH_POSTGRES_DIRECTORIES'
  try {
    const installations = await find(directories)
    const problems = installations.length > 0 ? [] : [{ ...problem, finding: 'no installation found', remedy }]
    return { installations, problems }
  } catch (error) {
    const finding = messageOf(error)
    return { installations: await find([]).catch(() => []), problems: [{ ...problem, finding, remedy }] }
  }
}

const addon_extensions = [
  { extension: 'timescaledb', debian_package: 'postgresql-17-timescaledb' },
  { extension: 'vector', debian_package: 'postgresql-17-pgvector' },
] as const

function extensionFact(
  { extension, debian_package }: (typeof addon_extensions)[number],
  installations: readonly PostgresInstallation[],
): HostFact {
  const name = `extension ${extension}`
  const installation = installationFor(installations, [extension])
  if (installation)
    return { name, supported: true, finding: `in PostgreSQL ${installation.version}, ${installation.bin}` }
  const remedy =
    `apt-get install ${debian_package} (Debian 13), or name a PostgreSQL 16 or newer that has it ` +
    'with --postgres-directories or HOWDAH_POSTGRES_DIRECTORIES'
  return { name, supported: false, finding: 'in no PostgreSQL installation of this host', remedy }
}

async function diskFact(directory: string): Promise<HostFact> {
  const { bavail, blocks, bsize } = await statfs(directory)
  const supported = bavail * bsize >= disk_bytes_wanted
  const finding = `${inGib(bavail * bsize)} free of ${inGib(blocks * bsize)} at ${directory}`
  return { name: 'disk space', supported, finding, ...(supported ? {} : { remedy: 'free at least 1 GiB' }) }
}

async function quotaFact(directory: string): Promise<HostFact> {
  const name = 'disk quotas'
  const projects = isHostRoot() ? await openProjects(newEffect(undefined), directory).catch(() => undefined) : undefined
  if (projects) return { name, supported: true, finding: `enforced by the kernel at ${directory}` }
  return {
    name,
    supported: false,
    finding: 'services are measured while the server runs; the kernel enforces nothing',
    remedy: 'run as root, put the data directory on an XFS mounted with prjquota, and apt-get install xfsprogs',
  }
}

function memoryFact(): HostFact {
  // A control group may allow less than the host has; zero, or more than there is, means that none does.
  const total = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  const finding = `${inGib(process.availableMemory())} available of ${inGib(total)}`
  return { name: 'memory', supported: true, finding }
}

function inGib(bytes: number): string {
  return `${(bytes / gib).toFixed(1)} GiB`
}

function nearestThere(path: string): string {
  return path === '/' || existsSync(path) ? path : nearestThere(dirname(path))
}
