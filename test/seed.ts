// What the first start of an installation builds, built once in a run of tests, by the product itself: PostgreSQL's template, its
// control files, and the metadata store with its schema. A fresh data directory with a copy of it starts at a fraction of the price.
// Tests of the first start itself begin with nothing (newDataDir).
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { access, mkdir, mkdtemp, readdir, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openLocalProvider } from '#providers/local/local.ts'
import { loadConfig } from '#server/config.ts'
import { openInstallation } from '#server/installation.ts'
import { newLog } from '#server/log.ts'
import { openStore } from '#server/store/access.ts'
import { stopMetadataStore } from '#server/store/embedded.ts'
import { newDataDir, removeDataDir } from './data-dir.ts'
import { newServicePorts } from './ports.ts'
import { unprivileged } from './privileges.ts'

/** A run inside another one takes that of the other. */
const seed = process.env['TEST_SEED_FOLDER'] ?? join(tmpdir(), 'seed')
/** Nothing of it says whose it is. The programs are there only where PostgreSQL cannot be run in its own place. */
const of_provider = ['templates', 'extensions', 'postgres']

let ensured: Promise<void> | undefined

/** A fresh data directory, on which a server starts as on a used one: without a user, a token or a service. */
export async function newSeededDataDir(): Promise<string> {
  const data_dir = newDataDir()
  try {
    await seedDataDir(data_dir)
    return data_dir
  } catch (error) {
    await removeDataDir(data_dir)
    throw error
  }
}

/** The same for a directory that the test has prepared, such as by a disk of its own for the provider. */
export async function seedDataDir(data_dir: string): Promise<void> {
  await seedStore(join(data_dir, 'store'))
  await seedProvider(join(data_dir, 'local'))
}

/**
 * For a server of the ordinary user: root's templates are this user's too, so what the seed shares stays as it is. Its metadata store, which
 * lets in the user that made it, it makes itself.
 */
export async function newDataDirOfUser(): Promise<string> {
  const data_dir = newDataDir()
  await seedProvider(join(data_dir, 'local'), { own: true })
  await promisify(execFile)('chown', ['--recursive', `${unprivileged}:${unprivileged}`, data_dir])
  return data_dir
}

/** The embedded metadata store, in a folder of its own that is not there yet. */
export async function seedStore(directory: string): Promise<void> {
  await (ensured ??= ensureSeed())
  await mkdir(directory, { mode: 0o700 })
  await copy(['store/data'], directory)
}

/** The directory of a local provider. own: no other has the files of it. */
export async function seedProvider(directory: string, { own = false } = {}): Promise<void> {
  await (ensured ??= ensureSeed())
  await mkdir(directory, { recursive: true, mode: 0o711 })
  const names = await readdir(join(seed, 'local'))
  const is_near = statSync(seed).dev === statSync(directory).dev
  // Nothing writes to them: a service is a copy.
  if (is_near && !own) for (const name of names) await linkTo(name, directory)
  else
    await copy(
      names.map((name) => `local/${name}`),
      directory,
      is_near ? ['--link'] : [],
    )
}

/** Of the directory of a local provider, the programs alone. */
export async function seedPrograms(directory: string): Promise<void> {
  await (ensured ??= ensureSeed())
  await mkdir(directory, { recursive: true, mode: 0o711 })
  if (await isThere(join(seed, 'local/postgres'))) await linkTo('postgres', directory)
}

/** A folder of its own with links to what is in that of the seed: a process that knows a program by its path need not ask for its version again. */
async function linkTo(name: string, directory: string): Promise<void> {
  const [from, to] = [join(seed, 'local', name), join(directory, name)]
  await mkdir(to, { mode: 0o711 })
  for (const entry of await readdir(from)) await symlink(join(from, entry), join(to, entry))
}

/** For a run inside this one. */
export async function seedFolder(): Promise<string> {
  await (ensured ??= ensureSeed())
  return seed
}

/** With owners and modes. The paths are below the seed. */
async function copy(paths: readonly string[], to: string, more: readonly string[] = []): Promise<void> {
  const words = ['--archive', ...more, '--reflink=auto', '--', ...paths.map((path) => join(seed, path)), `${to}/`]
  await promisify(execFile)('cp', words)
}

/** Renamed into place whole: of several workers that build it at once the first one wins. */
async function ensureSeed(): Promise<void> {
  if (await isThere(seed)) return
  const data_dir = newDataDir()
  const aside = await mkdtemp(join(tmpdir(), 'seed-'))
  try {
    await build(data_dir)
    mkdirSync(join(aside, 'local'))
    // Users of services pass through to the programs and the control files.
    for (const folder of [aside, join(aside, 'local')]) chmodSync(folder, 0o711)
    mkdirSync(join(aside, 'store'))
    await rename(join(data_dir, 'store/data'), join(aside, 'store/data'))
    for (const name of await readdir(join(data_dir, 'local'))) {
      if (of_provider.includes(name)) await rename(join(data_dir, 'local', name), join(aside, 'local', name))
    }
    await rename(aside, seed)
  } catch (error) {
    if (!(await isThere(seed))) throw error
  } finally {
    await rm(aside, { recursive: true, force: true })
    await removeDataDir(data_dir)
  }
}

async function build(data_dir: string): Promise<void> {
  const config = { ...loadConfig(['--log-level', 'silent'], {}), data_dir }
  const log = newLog('silent')
  const installation = await openInstallation(data_dir)
  const opening = openLocalProvider({
    directory: installation.local_directory,
    host: '127.0.0.1',
    ports: newServicePorts(),
    postgres_directories: [],
    installation_id: installation.installation_id,
    log: (fact, message) => log.warn(fact, message),
  })
  const store = await openStore(config, installation, log)
  await store.close()
  await stopMetadataStore({ directory: installation.store_directory })
  // Not before the template is built.
  await (await opening).close()
}

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )
