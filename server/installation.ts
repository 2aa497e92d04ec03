// The data directory: who may enter it, and the name of this installation. Made once, found again for ever.
// 1. As root it can be passed through (0711), because databases run as users of their own; an ordinary user's is 0700.
// 2. The installation id is made atomically: servers that start at once all read the same one. The users of an isolated
//    installation are in the same file, so a data directory is isolated from its first moment or never.
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isInside, mayGiveUsers } from '#providers/host/privilege.ts'
import { messageOf } from '#providers/host/message.ts'
import { findClosedAbove, undefinedIfAbsent } from '#providers/host/read.ts'
import type { UserMap } from '#providers/host/user-map.ts'
import { id_form, newId } from './id.ts'
import { makeOnce } from './whole-file.ts'

export type Installation = {
  installation_id: string
  data_dir: string
  store_directory: string
  local_directory: string
}

/** The data directory cannot be used; the message is for the operator. */
export class InstallationError extends Error {
  override readonly name = 'InstallationError'
}

/** Of a folder through which the users of the databases pass. */
const passable = 0o711
const folder_mode = mayGiveUsers() ? passable : 0o700
// What a server that starts at the same moment may already have made, and what every file system has.
const own_names =
  /^(installation-id|isolation|kubernetes|local|store|server|backup|restoring|secret\.key|metrics-token|lost\+found)/

/** `by`: a restore opens what is not whole yet. */
export async function openInstallation(data_dir: string, by?: 'restore'): Promise<Installation> {
  await refuseOutside(data_dir)
  if (by === undefined) refuseHalfRestored(data_dir)
  await ensureDataDirectory(data_dir, folder_mode)
  const local_directory = join(data_dir, 'local')
  await ensureFolder(local_directory, folder_mode)
  const installation_id = await ensureInstallationId(data_dir)
  // Another start may just have made it isolated.
  await refuseOutside(data_dir)
  return {
    installation_id,
    data_dir,
    store_directory: join(data_dir, 'store'),
    local_directory,
  }
}

/** Makes the data directory an isolated one, unless it is an installation already, be it isolated or not. */
export async function ensureIsolatedInstallation(data_dir: string, { uids, gids }: UserMap): Promise<void> {
  await ensureDataDirectory(data_dir, passable)
  await ensureInstallationId(data_dir, `uids ${uids}\ngids ${gids}\n`)
}

/** Undefined: there is no installation yet, or it is another user's. */
export async function findInstallationId(data_dir: string): Promise<string | undefined> {
  return idIn(await readFile(idFileOf(data_dir), 'utf8').catch(() => ''))
}

/** The users of an isolated installation; undefined when there is none, it is not isolated, or another user's. */
export async function findIsolation(data_dir: string): Promise<UserMap | undefined> {
  const file = idFileOf(data_dir)
  // A folder that cannot be entered is reported where it is used.
  const found = await stat(file).catch(() => undefined)
  if (found?.uid !== process.getuid?.()) return undefined
  const [, uids, gids] = /\nuids ([\d ]+)\ngids ([\d ]+)\n$/.exec(await readFile(file, 'utf8')) ?? []
  return uids === undefined || gids === undefined ? undefined : { uids, gids }
}

/** The users of an isolated installation are known inside its namespace only. */
async function refuseOutside(data_dir: string): Promise<void> {
  const isolation = await findIsolation(data_dir)
  if (isolation === undefined || isInside(isolation)) return
  throw new InstallationError(`${data_dir} is isolated; start it and read it with the howdah command`)
}

/** Where a restore keeps what it has fetched; there until it is complete. */
export const restoringOf = (data_dir: string) => join(data_dir, 'restoring')

function refuseHalfRestored(data_dir: string): void {
  if (!existsSync(restoringOf(data_dir))) return
  throw new InstallationError(
    `${data_dir} is only half restored; repeat howdah admin restore, which goes on where it was`,
  )
}

const idFileOf = (data_dir: string) => join(data_dir, 'installation-id')

/** Of the text of that file. */
function idIn(text: string): string | undefined {
  const installation_id = text.split('\n')[0]?.trim() ?? ''
  return id_form.test(installation_id) ? installation_id : undefined
}

async function ensureDataDirectory(data_dir: string, mode: number): Promise<void> {
  try {
    await refuseForeignFolder(data_dir)
    await ensureFolder(data_dir, mode)
  } catch (error) {
    if (error instanceof InstallationError) throw error
    const reason = messageOf(error)
    throw new InstallationError(`the data directory ${data_dir} cannot be used: ${reason}`, { cause: error })
  }
  // The databases run as other users, who must be able to walk to their files.
  const closed = mode === passable ? findClosedAbove(data_dir) : undefined
  if (closed === undefined) return
  throw new InstallationError(
    `the databases run as users of their own, who cannot pass through ${closed} to the data directory ${data_dir}; choose another one with --data-dir, or: chmod o+x ${closed}`,
  )
}

/** A mistyped path must not take a foreign folder, such as /tmp, from its users. */
async function refuseForeignFolder(data_dir: string): Promise<void> {
  const names = (await readdir(data_dir).catch(undefinedIfAbsent)) ?? []
  const foreign = names.find((name) => !own_names.test(name))
  if (foreign === undefined || names.includes('installation-id')) return
  throw new InstallationError(
    `${data_dir} is not a data directory of Howdah and not empty (it has ${foreign}); choose an empty or a new one with --data-dir`,
  )
}

async function ensureFolder(folder: string, mode: number): Promise<void> {
  await ensureFolders(folder, mode)
  const found = await stat(folder)
  if (found.uid !== process.getuid?.()) {
    throw new InstallationError(
      `the directory ${folder} belongs to another user; start the server as that user, or choose another one with --data-dir`,
    )
  }
  // The databases' users need the rights that a umask may have taken.
  if ((found.mode & 0o777) !== mode) await chmod(folder, mode)
}

/** Not by mkdir's own recursion, which never ends where the kernel lets no folder be made, as below /proc. */
async function ensureFolders(folder: string, mode: number): Promise<void> {
  if (await isFolder(folder)) return
  await ensureFolders(dirname(folder), mode)
  await mkdir(folder, { mode }).catch(async (error: unknown) => {
    if (!(await isFolder(folder))) throw error
  })
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isDirectory() === true
}

async function ensureInstallationId(data_dir: string, isolation = ''): Promise<string> {
  const file = idFileOf(data_dir)
  for (;;) {
    // Read before the id: a server that starts at the same moment makes the key after it.
    const is_used = existsSync(join(data_dir, 'secret.key'))
    const text = await readFile(file, 'utf8').catch(undefinedIfAbsent)
    const known = text && idIn(text)
    if (known) return known
    if (text !== undefined)
      throw new InstallationError(`${file} does not contain an installation id; restore it from a backup`)
    if (is_used)
      throw new InstallationError(
        `${file} is lost: restore it from a backup, or write the installation_id of a line "server started" in server.log into it`,
      )
    await makeOnce(file, `${newId()}\n${isolation}`)
  }
}
